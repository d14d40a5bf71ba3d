import { addKey, removeKey, storedKeys, type StoredKey } from "@routewright/runtime/keys";
import { isListed, TIERS } from "@routewright/runtime/model";
import { Option } from "commander";
import { existsSync } from "node:fs";
import { readSettings } from "../config.js";
import { readRevision } from "../diff/revision.js";
import { closest, formatValue } from "../manifest/strings.js";
import { type CliCommand, EXIT, type CommandResult, failure } from "./command.js";

const TAKES_EFFECT = "A running server reads the file within 5 seconds.";

interface Flags extends Omit<StoredKey, "id" | "allowed" | "created"> {
  readonly allow?: readonly string[];
  readonly file: string;
  readonly json: boolean;
}

export function configure(command: CliCommand): void {
  const file = new Option("--file <file>", "the key file").env("API_KEYS_FILE").default("./api_keys.json");
  command
    .command("create")
    .description("create a key and print it once")
    .requiredOption("--user <name>", "the user of the key")
    .addOption(
      new Option("--tier <tier>", "the highest tier that it may call").choices(TIERS).makeOptionMandatory(),
    )
    .option("--org <name>", "the user's organization; * with tier3: all of them", "")
    .option("--expires <time>", "last day of the key in UTC, or a date-time; without it: none")
    .option("--allow <names...>", "categories and paths that the key is limited to")
    .addOption(file)
    .option("--json", "print the key as JSON and nothing else", false)
    .runs((flags: Flags) => onFile(flags.file, () => createKey(flags)))
    .helpEnd(["keys create --user ann --tier tier1 --org acme"]);
  command
    .command("list")
    .description("list the keys by id")
    .addOption(file)
    .option("--json", "print JSON", false)
    .runs((flags: Flags) => onFile(flags.file, () => listKeys(flags)))
    .helpEnd(["keys list"]);
  command
    .command("revoke")
    .argument("<id>", "the key's id, or its first characters")
    .description("remove a key")
    .addOption(file)
    .runs((id: string, flags: Flags) => onFile(flags.file, () => revokeKey(id, flags.file)))
    .helpEnd(["keys revoke 3f2a9c41"]);
  command.helpEnd();
}

/** An action on the key file: an error of the file system becomes a message that names the file and the flag. */
async function onFile(
  file: string,
  action: () => CommandResult | Promise<CommandResult>,
): Promise<CommandResult> {
  try {
    return await action();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    return failure(
      `Cannot read or write the key file ${file} (${code}): name another with --file or API_KEYS_FILE.`,
    );
  }
}

/** `routewright keys create`: prints only the key to standard output, so that a script can read it. */
async function createKey(flags: Flags): Promise<CommandResult> {
  const { file, user, tier, org, expires, allow: allowed } = flags;
  if (user.trim() === "") return failure("--user is empty: name the user of the key.");
  const unknown = await unknownNames(allowed ?? []);
  if (unknown.length > 0) return failure(...unknown);
  const added = addKey(file, { user, tier, org, ...(expires && { expires }), ...(allowed && { allowed }) });
  if (!added.ok) return failure(...added.problems);
  const { key, id } = added.value;
  if (flags.json) return { exit: EXIT.ok, output: `${JSON.stringify({ key })}\n` };
  const notes = [`Stored hashed in ${file} as ${id}. The key is shown once: store it now.`, TAKES_EFFECT];
  return { exit: EXIT.ok, output: `${key}\n`, notes };
}

/** Its category, `system`, opens the refresh to a key. */
const REFRESH_PATH = "/v1/system/manifest/refresh";

/** A problem for each name that no endpoint of the generated folder has; none where there is no folder to look in. */
async function unknownNames(names: readonly string[]): Promise<readonly string[]> {
  const reading = await readSettings();
  if (names.length === 0 || !reading.ok || !existsSync(reading.value.out)) return [];
  const { out, defaultTier } = reading.value;
  const folder = await readRevision(out, { defaultTier, generated: out, cwd: process.cwd() });
  if (!folder.ok) return [];
  const paths = [REFRESH_PATH, ...folder.value.catalogue.entries.map(({ path }) => path)];
  const known = [...new Set([...paths, ...folder.value.catalogue.entries.map(({ category }) => category)])];
  return names
    .filter((name) => !paths.some((path) => isListed([name], path)))
    .map((name) => {
      const near = closest(name, known);
      const hint = near === null ? "" : ` Did you mean ${formatValue(near)}?`;
      return `--allow: no endpoint of ${out} has the category or path ${formatValue(name)}.${hint}`;
    });
}

/** `routewright keys list`: id, tier and user of each key. The file has no keys, only their hashes. */
function listKeys({ file, json }: Pick<Flags, "file" | "json">): CommandResult {
  const keys = storedKeys(file);
  if (!keys.ok) return failure(...keys.problems);
  if (json) return { exit: EXIT.ok, output: `${JSON.stringify(keys.value, null, 2)}\n` };
  const rows = keys.value.map(({ id, tier, user, org, created = "", expires = "", allowed = [] }) => {
    return [id, tier, user, org, created, expires, allowed.join(" ")];
  });
  const lines = [["id", "tier", "user", "org", "created", "expires", "allowed"], ...rows].map((row) =>
    row.join("\t").trimEnd(),
  );
  return { exit: EXIT.ok, output: `${lines.join("\n")}\n` };
}

/** `routewright keys revoke`: removes a key by its id or the beginning of its id. */
function revokeKey(id: string, file: string): CommandResult {
  if (id.trim() === "") return failure("The id is empty. `routewright keys list` shows the ids.");
  const removed = removeKey(file, id);
  if (!removed.ok) return failure(...removed.problems);
  const [match, ...others] = removed.value;
  if (match === undefined)
    return failure(`No key in ${file} has the id ${id}. \`routewright keys list\` shows the ids.`);
  if (others.length > 0)
    return failure(`The id ${id} matches ${String(removed.value.length)} keys: give more characters.`);
  return { exit: EXIT.ok, output: `Revoked ${match}.\n`, notes: [TAKES_EFFECT] };
}
