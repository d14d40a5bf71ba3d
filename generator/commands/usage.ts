import { Option } from "commander";
import {
  type Grouping,
  readEnvironment,
  readRouteUsage,
  readUsage,
  type RecordedUsage,
  type UsageLine,
  type UsageQuery,
} from "@routewright/runtime/server";
import { meteringText } from "@routewright/runtime/keys";
import { failed, messageOf, type Outcome, servedPaths } from "@routewright/runtime/model";
import { readCatalogueIn } from "../catalogue/catalogue-file.js";
import { visible } from "../manifest/strings.js";
import { type CliCommand, type CommandResult, EXIT, failure, OPTIONS, withSettings } from "./command.js";
import { withDatabase } from "./database.js";
import { withProgress } from "./progress.js";

export interface UsageFlags {
  readonly by: Grouping | "version";
  readonly since?: string;
  readonly key?: string;
  readonly generated?: string;
  readonly json: boolean;
  readonly format?: "csv" | "json" | "cloudevents";
}

export function configure(command: CliCommand): void {
  command
    .option("--since <date>", "first day, in UTC, such as 2026-01-31")
    .option("--key <id>", "one key, by its id or its first characters; none: callers without a key")
    .addOption(
      new Option("--by <subject>", "group by")
        .choices(["key", "route", "day", "version", "all"])
        .default("key"),
    )
    .addOption(OPTIONS.generated())
    .option("--json", "print JSON", false)
    .addOption(
      new Option(
        "--format <format>",
        "for bills: the use of organizations by key, endpoint and hour, of the database of KEYS_DATABASE_URL",
      ).choices(["csv", "json", "cloudevents"]),
    )
    .runs((flags: UsageFlags) =>
      flags.format === undefined ? usage(flags, process.env) : metering(flags, flags.format, process.env),
    )
    .helpEnd([
      "usage --since 2026-01-01",
      "usage --by route --key 3f2a9c41",
      "usage --by version   # who still calls an older version of a model",
      "usage --by all --json > usage.json   # for diff --usage",
      "usage --format cloudevents --since 2026-01-01 > events.json",
    ]);
}

/** `routewright usage`: requests by key, route or day, as servers have written them to the database. */
async function usage(flags: UsageFlags, variables: NodeJS.ProcessEnv): Promise<CommandResult> {
  const problems = problemsOf(flags);
  if (problems.length > 0) return failure(...problems);
  if (flags.by === "version") return await versionUsage(flags, variables);
  const query = { by: flags.by, since: flags.since ?? null, key: flags.key?.toLowerCase() ?? null };
  const result = await withProgress("Reading usage", () =>
    withUsageDatabase(variables, (url) => readUsage(url, query)),
  );
  if (!result.ok) return failure(...result.problems);
  const lines = result.value;
  const output = flags.json ? jsonOf(lines, flags.by) : tableOf(lines);
  return { exit: EXIT.ok, output, ...(lines.length === 0 && { notes: [noUsage(query)] }) };
}

/** Who calls which version of a model, by the paths of the generated folder. */
async function versionUsage(flags: UsageFlags, variables: NodeJS.ProcessEnv): Promise<CommandResult> {
  return await withSettings(flags, async ({ out }) => {
    const { versionLines, versionNotes } = await import("../diff/version-usage.js");
    const catalogue =
      readCatalogueIn(out) ?? failed(`${out} has no catalogue.json. Run \`routewright generate\`.`);
    if (!catalogue.ok) return failure(...catalogue.problems);
    const { entries } = catalogue.value;
    const routes = entries.flatMap(servedPaths);
    const recorded = await withProgress("Reading usage", () =>
      recordedUsage(variables, routes, flags.since ?? "-infinity"),
    );
    if (!recorded.ok) return failure(...recorded.problems);
    const { key } = flags;
    const lines = versionLines(entries, recorded.value.lines, key?.toLowerCase());
    const notes = versionNotes(lines);
    return {
      exit: EXIT.ok,
      output: flags.json ? `${JSON.stringify(lines, null, 2)}\n` : tableOf(lines),
      notes,
    };
  });
}

/** `routewright usage --format`: what is billed. */
async function metering(
  { since, key, json, by }: UsageFlags,
  format: NonNullable<UsageFlags["format"]>,
  { KEYS_DATABASE_URL: databaseUrl }: NodeJS.ProcessEnv,
): Promise<CommandResult> {
  if (key !== undefined || json || by !== "key")
    return failure("--format goes with --since alone: it has a line for each key, endpoint and hour.");
  const problems = problemsOf({ since });
  if (problems.length > 0) return failure(...problems);
  if (!databaseUrl) return failure("Set KEYS_DATABASE_URL: the use of organizations is stored there.");
  try {
    const { text, rows } = await meteringText(databaseUrl, since ?? null, format);
    const notes = rows === 0 ? ["No use yet. Servers write it within a second."] : [];
    return { exit: EXIT.ok, output: text, notes };
  } catch (error) {
    return failure(`KEYS_DATABASE_URL: ${messageOf(error)}`);
  }
}

/** Calls `work` with the database in which servers store usage. */
export async function withUsageDatabase<Value>(
  variables: NodeJS.ProcessEnv,
  work: (url: string) => Promise<Outcome<Value>>,
): Promise<Outcome<Value>> {
  const reading = readEnvironment(variables);
  if (!reading.ok) return reading;
  const { databaseUrl, clickhouseUrl } = reading.value.environment;
  if (databaseUrl === null && clickhouseUrl !== null) return failed(IN_POSTGRES);
  return (await withDatabase(databaseUrl, work)) ?? failed(NO_DATABASE);
}

/** The use of routes from a day on, as servers have written it. */
export function recordedUsage(
  variables: NodeJS.ProcessEnv,
  routes: readonly string[],
  since: string,
): Promise<Outcome<RecordedUsage>> {
  return withUsageDatabase(variables, (url) => readRouteUsage(url, routes, since));
}

const NO_DATABASE =
  "There is no database to read usage from: set DATABASE_URL to the server's, or run `routewright serve` once.";

const IN_POSTGRES =
  "Usage is stored in PostgreSQL, and DATABASE_URL is ClickHouse: set DATABASE_URL to PostgreSQL and CLICKHOUSE_URL to ClickHouse, here and for the server. Without PostgreSQL no usage is recorded.";

/** The messages do not repeat the values: a caller may have passed the key itself. */
function problemsOf({
  since,
  key,
}: {
  readonly since?: string | undefined;
  readonly key?: string;
}): string[] {
  return [
    ...(since === undefined || isDay(since) ? [] : ["--since must be a day in UTC, such as 2026-01-31."]),
    ...(key === undefined || /^([0-9a-f]{1,12}|none)$/i.test(key)
      ? []
      : [
          "--key must be a key's id, as `routewright keys list` shows it, or none for callers without a key.",
        ]),
  ];
}

function isDay(text: string): boolean {
  const day = new Date(`${text}T00:00:00Z`);
  return /^\d{4}-\d\d-\d\d$/.test(text) && !isNaN(day.valueOf()) && day.toISOString().startsWith(text);
}

function noUsage({ since, key }: UsageQuery): string {
  const selected = [key === null ? "" : ` of the key ${key}`, since === null ? "" : ` since ${since}`].join(
    "",
  );
  return `No usage${selected} yet. A server writes it within ten seconds, unless USAGE_ENABLED is false.`;
}

/** Of everything, a record on each line: there may be a million. */
function jsonOf(lines: readonly UsageLine[], by: Grouping): string {
  if (by !== "all") return `${JSON.stringify(lines, null, 2)}\n`;
  return `[\n${lines.map((line) => JSON.stringify(line, withoutCount)).join(",\n")}\n]\n`;
}

/** How many succeeded is said of all requests of a route, not of those with a parameter. */
function withoutCount(name: string, value: unknown): unknown {
  return name === "succeeded" && value === null ? undefined : value;
}

/** Lines of shapes have names of their own. */
function namesOf(lines: readonly UsageLine[]): ReadonlySet<string> {
  const names = new Set<string>();
  for (const line of lines) for (const name of Object.keys(line)) names.add(name);
  return names;
}

/** Columns separated by tabs, as in `keys list`; nothing in it moves a terminal's cursor. */
function tableOf(lines: readonly UsageLine[]): string {
  if (lines.length === 0) return "";
  const names = [...namesOf(lines)];
  const header = names.map((name) => (name === "lastSeen" ? "last seen" : name));
  const rows = lines.map((line) => names.map((name) => visible(String(line[name] ?? ""))));
  return `${[header, ...rows].map((row) => row.join("\t")).join("\n")}\n`;
}
