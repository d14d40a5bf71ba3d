import { succeeded } from "@routewright/runtime/model";
import { InvalidArgumentError } from "commander";
import { readFileSync } from "node:fs";
import { hostname, userInfo } from "node:os";
import type { AdminSession, Outcome } from "@routewright/ramp";
import type * as RampModule from "@routewright/ramp";
import { type CliCommand, type CommandResult, DATA_DIR, EXIT, failure } from "../command.js";
import { loadRamp, rampMissing } from "../ramp-package.js";

const SHOWN_ONCE = "The secret is shown once: store it now.";

type RampProjectId = Parameters<typeof RampModule.addSecret>[1];

/** What a command prints: a record, or a list of records. */
type Printed = object | readonly object[];
type PrintedResult = Promise<Printed | Outcome<Printed>>;

export interface CommandContext extends AdminSession {
  readonly ramp: typeof RampModule;
}

/** Flags by their commander names; each command reads those that it declares. */
export interface Flags {
  readonly json: boolean;
  readonly [name: string]: unknown;
}

export type Group = ReturnType<typeof groupOf>;

/** Declares the subcommands of one group, such as `ramp project …`, or of `ramp` itself. */
export function groupOf(parent: CliCommand) {
  const path = parent.name() === "ramp" ? "ramp" : `ramp ${parent.name()}`;
  /** `example`: the flags of the example in its help. */
  const add = (
    name: string,
    description: string,
    example: string,
    run: (context: CommandContext, flags: Flags) => PrintedResult,
  ): CliCommand =>
    parent
      .command(name)
      .description(description)
      .option("--json", "print JSON", false)
      .runs((flags: Flags) => runCommand(`${path} ${name}`, flags, (context) => run(context, flags)))
      .helpEnd([`${path} ${name} ${example}`.trimEnd()]);
  /** The same for a command that works on one project: adds `--project`. */
  const addForProject = (
    name: string,
    description: string,
    example: string,
    run: (context: CommandContext, projectId: RampProjectId, flags: Flags) => PrintedResult,
  ): CliCommand =>
    add(name, description, `--project ${EXAMPLE_ID} ${example}`.trimEnd(), async (context, flags) => {
      const project = await context.ramp.findProject(context.database, text(flags, "project"));
      return project.ok ? run(context, project.value, flags) : project;
    }).requiredOption("--project <id>", "the project's id");
  return { add, addForProject };
}

/** Ids in examples are UUIDs, as the real ones. */
export const EXAMPLE_ID = "0b0e7f1c-6d55-4a3e-9f0e-2d8c51b7a9e4";

/** Opens the ramp's database for one command and prints the result. */
async function runCommand(
  command: string,
  flags: Flags,
  run: (context: CommandContext) => PrintedResult,
): Promise<CommandResult> {
  const ramp = await loadRamp();
  if (ramp === null) return failure(rampMissing());
  const reading = ramp.readRampEnvironment(process.env);
  if (!reading.ok) return failure(...reading.problems);
  const log = ramp.createLogger("warn");
  const { environment } = reading.value;
  const options = { environment, dataDir: DATA_DIR, log };
  const session = await ramp.openAdminSession(options, (flags["eventsAfter"] as bigint | undefined) ?? null);
  try {
    const context = { ...session, ramp };
    const attempt = async (): Promise<Outcome<Printed>> => {
      const result = await run(context);
      return "ok" in result ? result : succeeded(result);
    };
    const outcome = await (READS.test(command) ? attempt() : auditedRun(context, command, flags, attempt));
    if (!outcome.ok) return failure(...outcome.problems);
    const csv = (outcome.value as { readonly csv?: string }).csv;
    const output =
      csv !== undefined
        ? csv
        : flags.json
          ? `${ramp.stringify(outcome.value, 2)}\n`
          : textOf(ramp, outcome.value);
    return {
      exit: hasFinding(outcome.value) ? EXIT.findings : EXIT.ok,
      output,
      ...("secret" in outcome.value || "clientSecret" in outcome.value ? { notes: [SHOWN_ONCE] } : {}),
    };
  } finally {
    await session.close();
  }
}

/**
 * Commands that change nothing. `show` is recorded all the same: it opens what providers answered about a customer. `migrate` runs
 * before there is a table to record it in.
 */
const READS = / (list|doctor|intents|report|balances|reconcile|test|audit|migrate)$/;

/** Flags whose values are secret, or addresses that often hold a secret. */
const SECRET_FLAGS: ReadonlySet<string> = new Set(["secret", "walletRpc"]);

function auditedRun(
  { ramp, database }: CommandContext,
  command: string,
  flags: Flags,
  run: () => Promise<Outcome<Printed>>,
): Promise<Outcome<Printed>> {
  const uuid = (name: string): string | null => {
    const id = text(flags, name).toLowerCase();
    return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id) ? id : null;
  };
  const action = {
    actor: process.env["RAMP_OPERATOR"] ?? `${userInfo().username}@${hostname()}`,
    action: command.replace(/^ramp /, ""),
    projectId: uuid("project"),
    intentId: uuid("intent"),
    note: text(flags, "note") || null,
    arguments: Object.fromEntries(
      Object.entries(flags).filter(([name]) => name !== "json" && name !== "note" && !SECRET_FLAGS.has(name)),
    ),
  };
  return ramp.audited(database, action, run, (outcome) =>
    outcome.ok ? doneOf(outcome.value) : outcome.problems.join(" "),
  );
}

/** A refund's entry holds its amount and id. */
function doneOf(value: object): string {
  const { amount, refundId } = value as Readonly<Record<string, unknown>>;
  return typeof amount === "string" && typeof refundId === "string" ? `done: ${amount}, ${refundId}` : "done";
}

/** Whether one of the records is a check that failed. */
function hasFinding(value: Printed): boolean {
  return Array.isArray(value) && (value as readonly { ok?: boolean }[]).some(({ ok }) => ok === false);
}

function textOf({ stringify }: Pick<typeof RampModule, "stringify">, value: Printed): string {
  const records = Array.isArray(value) ? (value as readonly object[]) : [value];
  const printed = (field: unknown): string =>
    field instanceof Date ? field.toISOString() : typeof field === "string" ? field : stringify(field);
  return records
    .map((record) => Object.entries(record).map(([name, field]) => `${name}: ${printed(field)}\n`))
    .map((lines) => lines.join(""))
    .join("\n");
}

export const text = (flags: Flags, name: string): string => (flags[name] ?? "") as string;
export const list = (flags: Flags, name: string): readonly string[] =>
  (flags[name] ?? []) as readonly string[];
export const collect = (value: string, before: readonly string[] = []): readonly string[] => [
  ...before,
  value,
];

/** Reads one of two words. */
export function either(one: string, other: string): (text: string) => string {
  return (given) => {
    if (given === one || given === other) return given;
    throw new InvalidArgumentError(`${one} or ${other}.`);
  };
}

/** Reads a whole number within bounds. */
export function integerBetween(min: number, max: number): (text: string) => number {
  return (given) => {
    const number = /^\d{1,9}$/.test(given) ? Number(given) : NaN;
    if (!(number >= min && number <= max))
      throw new InvalidArgumentError(`A whole number from ${String(min)} to ${String(max)}.`);
    return number;
  };
}

/** Years that a sequence number of events can be of, in microseconds since 1970. */
const [YEAR_2020, YEAR_2200] = [1_577_836_800_000_000n, 7_258_118_400_000_000n];

/** A place in the feed of events: a sequence number, or a time. */
export function sequenceOf(given: string): bigint {
  const time = /^\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)$/.test(given) ? Date.parse(given) : NaN;
  const sequence = /^\d{16}$/.test(given) ? BigInt(given) : BigInt(Number.isNaN(time) ? 0 : time) * 1_000n;
  if (sequence < YEAR_2020 || sequence > YEAR_2200)
    throw new InvalidArgumentError("A sequence of 16 digits, or a time such as 2026-11-29T23:15:00Z.");
  return sequence;
}

/**
 * A secret from a flag, from standard input (`-`) or from an environment variable. Other users of the machine can see flags in the
 * list of processes. Null: none was given.
 */
export function secretOf(flags: Flags, name: string, variable: string): string | null {
  const given = flags[name] as string | undefined;
  const secret = given === "-" ? readFileSync(0, "utf8").trim() : (given ?? process.env[variable] ?? "");
  return secret === "" ? null : secret;
}
