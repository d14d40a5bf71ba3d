import { type KeyStore, openKeyStore } from "@routewright/runtime/keys";
import { allowsPath, messageOf, type Plans, TIERS, type Tier } from "@routewright/runtime/model";
import { Option } from "commander";
import { existsSync } from "node:fs";
import type { Catalogue } from "../catalogue/catalogue.js";
import { readSettings } from "../config.js";
import { readRevision } from "../diff/revision.js";
import { closest, formatValue, visible } from "../manifest/strings.js";
import { type CliCommand, EXIT, type CommandResult, failure } from "./command.js";
import {
  type LimitFlags,
  listOrganizations,
  setLimits,
  whyNoPlanIsSet,
  withFigureFlags,
} from "./organization-limits.js";

interface Flags {
  readonly file?: string;
}

interface OwnerFlags extends Flags {
  readonly user: string;
  readonly tier: Tier;
  readonly org: string;
  readonly expires?: string;
  readonly allow?: readonly string[];
  readonly json: boolean;
}

/** How long the key before a rotation stays valid, in hours: a day to bring the new one to its users. */
const KEEP_HOURS = "24";

export function configure(command: CliCommand): void {
  const file = new Option(
    "--file <file>",
    "the key file (default: the database of KEYS_DATABASE_URL, or API_KEYS_FILE, or ./api_keys.json)",
  );
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
    .runs(async (flags: OwnerFlags) =>
      onStore(flags, (store) => createKey(store, flags), (await catalogueIn())?.plans),
    )
    .helpEnd(["keys create --user ann --tier tier1 --org acme"]);
  command
    .command("list")
    .description("list the keys by id")
    .addOption(file)
    .option("--json", "print JSON", false)
    .runs((flags: Flags & { readonly json: boolean }) =>
      onStore(flags, (store) => listKeys(store, flags.json)),
    )
    .helpEnd(["keys list"]);
  command
    .command("rotate")
    .argument("<id>", "the key's id, or its first characters")
    .description("create a key in place of another, which stays valid for a time, and print it once")
    .option("--keep <hours>", "how long the key before stays valid, in hours", KEEP_HOURS)
    .addOption(file)
    .option("--json", "print the key as JSON and nothing else", false)
    .runs((id: string, flags: RotateFlags) => onStore(flags, (store) => rotateKey(store, id, flags)))
    .helpEnd(["keys rotate 3f2a9c41 --keep 72"]);
  command
    .command("revoke")
    .argument("<id>", "the key's id, or its first characters")
    .description("remove a key")
    .addOption(file)
    .runs((id: string, flags: Flags) => onStore(flags, (store) => revokeKey(store, id)))
    .helpEnd(["keys revoke 3f2a9c41"]);
  command
    .command("plan")
    .argument("[organization]", "without it: all organizations, their plans and numbers of keys")
    .argument("[plan]", "a plan of the generated folder")
    .description("list the organizations of the database, or give one a plan")
    .option("--none", "take the organization's plan away", false)
    .option("--json", "print JSON", false)
    .runs((organization: string | undefined, plan: string | undefined, flags: PlanFlags) =>
      onStore({}, (store) => planOf(store, organization, plan, flags)),
    )
    .helpEnd(["keys plan", "keys plan acme pro"]);
  withFigureFlags(command.command("limits"))
    .argument("<organization>", "an organization of the database")
    .description("give an organization figures that go before those of its plan")
    .option("--none", "take all figures of its own away", false)
    .runs((organization: string, flags: LimitFlags) =>
      onStore({}, (store) => setLimits(store, organization, flags)),
    )
    .helpEnd(["keys limits acme --requests 100000 --keys 5"]);
  command
    .command("import")
    .argument("[file]", "the key file (default: API_KEYS, or API_KEYS_FILE, or ./api_keys.json)")
    .description("copy keys into the database of KEYS_DATABASE_URL, whose own entries stay as they are")
    .runs((file: string | undefined) => importKeys(file))
    .helpEnd(["keys import api_keys.json"]);
  command.helpEnd();
}

interface PlanFlags {
  readonly none: boolean;
  readonly json: boolean;
}

interface RotateFlags extends Flags {
  readonly keep: string;
  readonly json: boolean;
}

/** Where keys lie by the flag and the environment. */
const sourcesOf = ({ file }: Flags) => ({
  file,
  databaseUrl: process.env["KEYS_DATABASE_URL"],
  inline: process.env["API_KEYS"],
  defaultFile: process.env["API_KEYS_FILE"] || "./api_keys.json",
});

/** An action on the key store; errors of the database name its variable. */
async function onStore(
  flags: Flags,
  action: (store: KeyStore) => Promise<CommandResult>,
  plans: Plans = {},
): Promise<CommandResult> {
  const sources = { ...sourcesOf(flags), plans };
  let store: KeyStore | null = null;
  try {
    store = await openKeyStore(sources);
    return await action(store);
  } catch (error) {
    if (sources.file !== undefined || !sources.databaseUrl) throw error;
    return failure(`KEYS_DATABASE_URL: ${messageOf(error)}`);
  } finally {
    await store?.close();
  }
}

/** `routewright keys create`: prints only the key to standard output, so that a script can read it. */
async function createKey(store: KeyStore, flags: OwnerFlags): Promise<CommandResult> {
  const { user, tier, org, expires, allow: allowed } = flags;
  if (user.trim() === "") return failure("--user is empty: name the user of the key.");
  const unknown = await unknownNames(allowed ?? []);
  if (unknown.length > 0) return failure(...unknown);
  const owner = { user, tier, org, ...(expires && { expires }), ...(allowed && { allowed }) };
  const added = await store.create(owner);
  if (!added.ok) return failure(...added.problems);
  const { key, id } = added.value;
  return shownOnce(key, flags, [
    `Stored hashed in ${store.name} as ${id}. The key is shown once: store it now.`,
    store.takesEffect,
  ]);
}

function shownOnce(
  key: string,
  { json }: { readonly json: boolean },
  notes: readonly string[],
): CommandResult {
  if (json) return { exit: EXIT.ok, output: `${JSON.stringify({ key })}\n` };
  return { exit: EXIT.ok, output: `${key}\n`, notes };
}

/** The catalogue of the generated folder; null where there is no folder to look in. */
async function catalogueIn(): Promise<(Catalogue & { readonly folder: string }) | null> {
  const reading = await readSettings();
  if (!reading.ok || !existsSync(reading.value.out)) return null;
  const { out, defaultTier } = reading.value;
  const folder = await readRevision(out, { defaultTier, generated: out, cwd: process.cwd() });
  return folder.ok ? { ...folder.value.catalogue, folder: out } : null;
}

/** Its category, `system`, opens the refresh to a key. */
const REFRESH_PATH = "/v1/system/manifest/refresh";

/** A problem for each name that no endpoint of the generated folder has; none where there is no folder to look in. */
async function unknownNames(names: readonly string[]): Promise<readonly string[]> {
  const catalogue = names.length === 0 ? null : await catalogueIn();
  if (catalogue === null) return [];
  const paths = [REFRESH_PATH, ...catalogue.entries.map(({ path }) => path)];
  const known = [...new Set([...paths, ...catalogue.entries.map(({ category }) => category)])];
  return names
    .filter((name) => !paths.some((path) => allowsPath([name], path)))
    .map((name) => {
      const near = closest(name, known);
      const hint = near === null ? "" : ` Did you mean ${formatValue(near)}?`;
      return `--allow: no endpoint of ${catalogue.folder} has the category or path ${formatValue(name)}.${hint}`;
    });
}

/** `routewright keys list`: id, tier and user of each key. There are no keys in a store, only their hashes. */
async function listKeys(store: KeyStore, isJson: boolean): Promise<CommandResult> {
  const keys = await store.keys();
  if (!keys.ok) return failure(...keys.problems);
  const list = [...keys.value.values()];
  if (isJson) return { exit: EXIT.ok, output: `${JSON.stringify(list, null, 2)}\n` };
  const rows = list.map(
    ({ id, tier, user, org, created = "", expires = "", allowed = [], lastUsed = "" }) => {
      return [id, tier, user, org, created, expires, allowed.join(" "), lastUsed];
    },
  );
  const head = ["id", "tier", "user", "org", "created", "expires", "allowed", "last used"];
  const lines = [head, ...rows].map((row) => row.map(visible).join("\t").trimEnd());
  return { exit: EXIT.ok, output: `${lines.join("\n")}\n` };
}

const NO_ID = "The id is empty. `routewright keys list` shows the ids.";

/** `routewright keys rotate`: a new key with the owner and the limits of another. */
async function rotateKey(store: KeyStore, id: string, flags: RotateFlags): Promise<CommandResult> {
  if (id.trim() === "") return failure(NO_ID);
  const hours = /^\d{1,4}(\.\d{1,3})?$/.test(flags.keep) ? Number(flags.keep) : null;
  if (hours === null) return failure("--keep must be a number of hours from 0 to 9999, such as 72 or 0.5.");
  const rotated = await store.rotate(id, Math.round(hours * 3600));
  if (!rotated.ok) return failure(...rotated.problems);
  const { key, replaced, until, id: made } = rotated.value;
  return shownOnce(key, flags, [
    `Stored hashed in ${store.name} as ${made}. The key is shown once: store it now.`,
    `The key ${replaced} stays valid until ${until}.`,
    store.takesEffect,
  ]);
}

/** `routewright keys revoke`: removes a key by its id or the beginning of its id. */
async function revokeKey(store: KeyStore, id: string): Promise<CommandResult> {
  if (id.trim() === "") return failure(NO_ID);
  const revoked = await store.revoke(id);
  if (!revoked.ok) return failure(...revoked.problems);
  return { exit: EXIT.ok, output: `Revoked ${revoked.value}.\n`, notes: [store.takesEffect] };
}

/** `routewright keys plan`: what an organization's keys may do counts at once. */
async function planOf(
  { organizations, takesEffect }: KeyStore,
  id: string | undefined,
  plan: string | undefined,
  { none, json }: PlanFlags,
): Promise<CommandResult> {
  if (organizations === null)
    return failure("Organizations have plans in a database of keys: set KEYS_DATABASE_URL.");
  if (id === undefined && !none) return listOrganizations(await organizations.list(), json);
  if (id === undefined) return failure("Name the organization whose plan is taken away.");
  if (!plan !== none) return failure("Name the plan, or take it away with --none.");
  const problem = plan ? await unknownPlan(plan) : null;
  if (problem !== null) return failure(problem);
  if (!(await organizations.setPlan(id, plan || null)))
    return failure(await whyNoPlanIsSet(organizations, id));
  return {
    exit: EXIT.ok,
    output: `${visible(id)} has ${visible(plan || "no plan")}.\n`,
    notes: [takesEffect],
  };
}

/** A server would open tier0 only. */
async function unknownPlan(plan: string): Promise<string | null> {
  const catalogue = await catalogueIn();
  if (catalogue === null) return null;
  const names = Object.keys(catalogue.plans ?? {});
  if (names.includes(plan)) return null;
  const known =
    names.length === 0 ? "It has none: write `plans` into the config file." : `Plans: ${names.join(", ")}.`;
  return `The generated folder has no plan ${formatValue(plan)}. ${known}`;
}

/** `routewright keys import`: a server that has both stores accepts every key meanwhile. */
async function importKeys(file: string | undefined): Promise<CommandResult> {
  const { databaseUrl, ...from } = sourcesOf(file === undefined ? {} : { file });
  if (!databaseUrl) return failure("Set KEYS_DATABASE_URL to the database that takes the keys.");
  const source = await openKeyStore(from);
  const keys = await source.keys();
  if (!keys.ok) return failure(...keys.problems);
  return onStore({}, async (store) => {
    const added = await store.add(keys.value);
    if (!added.ok) return failure(...added.problems);
    const known = String(keys.value.size - added.value);
    const output = `Imported ${String(added.value)} keys of ${source.name}; ${known} were there already.\n`;
    return { exit: EXIT.ok, output, notes: [store.takesEffect] };
  });
}
