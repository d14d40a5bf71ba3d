import type { KeyStore, Organization } from "@routewright/runtime/keys";
import { OWN_FIGURES, type OwnFigures } from "@routewright/runtime/model";
import { formatValue, visible } from "../manifest/strings.js";
import { type CliCommand, EXIT, type CommandResult, failure } from "./command.js";

type OwnFigure = keyof OwnFigures;

/** `--none`, and a number for each figure. */
export type LimitFlags = Readonly<Partial<Record<OwnFigure, string>>> & { readonly none: boolean };

/** What each figure of `keys limits` means. */
const FLAGS: Readonly<Record<OwnFigure, readonly [flag: string, text: string, max: number]>> = {
  requestsPerMinute: ["--requests-per-minute <n>", "requests per minute of each key", 1_000_000],
  requests: ["--requests <n>", "requests per month of all keys together", 1e15],
  rows: ["--rows <n>", "rows per month of all keys together", 1e15],
  bytes: ["--bytes <n>", "bytes per month of all keys together", 1e15],
  keys: ["--keys <n>", "number of keys", 1_000_000],
  members: ["--members <n>", "number of members", 1_000_000],
};

/** Adds a flag for each figure; `plan` gives one back to the plan. */
export function withFigureFlags(command: CliCommand): CliCommand {
  for (const figure of OWN_FIGURES) {
    const [flag, text] = FLAGS[figure];
    command.option(flag, `${text}, or \`plan\`: that of the plan`);
  }
  return command;
}

/** `routewright keys limits`: figures of an organization that go before those of its plan. */
export async function setLimits(
  { organizations, takesEffect }: KeyStore,
  id: string,
  flags: LimitFlags,
): Promise<CommandResult> {
  if (organizations === null)
    return failure("Organizations have figures of their own in a database of keys: set KEYS_DATABASE_URL.");
  const given = OWN_FIGURES.flatMap((figure) => {
    const text = flags[figure];
    return text === undefined ? [] : [[figure, figureOf(figure, text)] as const];
  });
  const wrong = given.find(([, value]) => Number.isNaN(value));
  if (wrong !== undefined) return failure(problemOf(wrong[0]));
  if ((given.length === 0) !== flags.none)
    return failure("Name figures, such as --requests 100000, or take all of them away with --none.");
  const found = await organizations.find(id);
  const before = flags.none || found === null ? NO_FIGURES : found.own;
  const figures = { ...before, ...Object.fromEntries(given) };
  if (!(await organizations.setFigures(id, figures))) return failure(unknownOrganization(id));
  const output = `${visible(id)} has ${ownText(figures) || "the figures of its plan"}.\n`;
  return { exit: EXIT.ok, output, notes: [takesEffect] };
}

/** Why an organization kept the plan that it has. */
export async function whyNoPlanIsSet(
  organizations: NonNullable<KeyStore["organizations"]>,
  id: string,
): Promise<string> {
  const hasMembers = (await organizations.find(id)) !== null;
  return hasMembers
    ? `${formatValue(id)} has members, and without a plan the keys that they make would open all of their tier: give it another plan.`
    : unknownOrganization(id);
}

function unknownOrganization(id: string): string {
  return `No key has the organization ${formatValue(id)}. \`routewright keys plan\` lists them.`;
}

export function listOrganizations(list: readonly Organization[], isJson: boolean): CommandResult {
  if (isJson) return { exit: EXIT.ok, output: `${JSON.stringify(list, null, 2)}\n` };
  const rows = list.map(({ id, plan, keys, own }) =>
    [id, plan ?? "", String(keys), ownText(own)].map(visible).join("\t").trimEnd(),
  );
  return { exit: EXIT.ok, output: `${["organization\tplan\tkeys\town figures", ...rows].join("\n")}\n` };
}

const NO_FIGURES = Object.fromEntries(OWN_FIGURES.map((figure) => [figure, null])) as unknown as OwnFigures;

/** Null: that of the plan. NaN: no such number. */
function figureOf(figure: OwnFigure, text: string): number | null {
  if (text === "plan") return null;
  const value = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : NaN;
  return value <= FLAGS[figure][2] ? value : NaN;
}

function problemOf(figure: OwnFigure): string {
  const [flag, , max] = FLAGS[figure];
  return `${flag.split(" ", 1)[0] ?? ""} must be a whole number from 1 to ${String(max)}, or \`plan\`.`;
}

function ownText(own: OwnFigures): string {
  const set = OWN_FIGURES.filter((figure) => own[figure] !== null);
  return set.map((figure) => `${figure} ${String(own[figure])}`).join(", ");
}
