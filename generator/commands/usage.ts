import { Option } from "commander";
import {
  type Grouping,
  readEnvironment,
  readUsage,
  type UsageLine,
  type UsageQuery,
} from "@routewright/runtime/server";
import { visible } from "../manifest/strings.js";
import { type CliCommand, type CommandResult, EXIT, failure } from "./command.js";
import { withDatabase } from "./database.js";

export interface UsageFlags {
  readonly by: Grouping;
  readonly since?: string;
  readonly key?: string;
  readonly json: boolean;
}

export function configure(command: CliCommand): void {
  command
    .option("--since <date>", "first day, in UTC, such as 2026-01-31")
    .option("--key <id>", "one key, by its id or its first characters; none: callers without a key")
    .addOption(new Option("--by <subject>", "group by").choices(["key", "route", "day"]).default("key"))
    .option("--json", "print JSON", false)
    .runs((flags: UsageFlags) => usage(flags, process.env))
    .helpEnd(["usage --since 2026-01-01", "usage --by route --key 3f2a9c41"]);
}

/** `routewright usage`: requests by key, route or day, as servers have written them to the database. */
async function usage(flags: UsageFlags, variables: NodeJS.ProcessEnv): Promise<CommandResult> {
  const reading = readEnvironment(variables);
  if (!reading.ok) return failure(...reading.problems);
  const { databaseUrl, clickhouseUrl } = reading.environment;
  if (databaseUrl === null && clickhouseUrl !== null) return failure(IN_POSTGRES);
  const problems = problemsOf(flags);
  if (problems.length > 0) return failure(...problems);
  const query = { by: flags.by, since: flags.since ?? null, key: flags.key?.toLowerCase() ?? null };
  const result = await withDatabase(databaseUrl, (url) => readUsage(url, query));
  if (result === null) return failure(NO_DATABASE);
  if (!result.ok) return failure(result.problem);
  const lines = result.value;
  const output = flags.json ? `${JSON.stringify(lines, null, 2)}\n` : tableOf(lines);
  return { exit: EXIT.ok, output, ...(lines.length === 0 && { notes: [noUsage(query)] }) };
}

const NO_DATABASE =
  "There is no database to read usage from: set DATABASE_URL to the server's, or run `routewright serve` once.";

const IN_POSTGRES =
  "Usage is stored in PostgreSQL, and DATABASE_URL is ClickHouse: set DATABASE_URL to PostgreSQL and CLICKHOUSE_URL to ClickHouse, here and for the server. Without PostgreSQL no usage is recorded.";

/** The messages do not repeat the values: a caller may have passed the key itself. */
function problemsOf({ since, key }: UsageFlags): string[] {
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

/** Columns separated by tabs, as in `keys list`; nothing in it moves a terminal's cursor. */
function tableOf(lines: readonly UsageLine[]): string {
  const [first] = lines;
  if (first === undefined) return "";
  const header = Object.keys(first).map((name) => (name === "lastSeen" ? "last seen" : name));
  const rows = lines.map((line) => Object.values(line).map((value) => visible(String(value))));
  return `${[header, ...rows].map((row) => row.join("\t")).join("\n")}\n`;
}
