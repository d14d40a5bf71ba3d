import { isObject, objectOr, textOr, type Json, type JsonObject } from "./json.js";
import { parseJson } from "./manifest.js";
import { fail, type Failure } from "./source.js";

/** A node that dbt has built, or begun to build. */
export interface NodeBuild {
  /** dbt's `unique_id`. */
  readonly node: string;
  /** When it was done, in milliseconds since 1970. */
  readonly completedAt: number;
  /** It failed while its SQL ran, which may be after the relation was replaced: a hook after the commit, a grant, an index. */
  readonly failed?: true;
  /** Rows that the build wrote: all of a table, the new ones of an incremental model; null where dbt does not say. */
  readonly rows: number | null;
}

/** The last result of a dbt test. */
export interface TestRun {
  /** dbt's `unique_id` of the test. */
  readonly test: string;
  readonly status: "pass" | "warn" | "fail" | "error";
  /** When it was run, in milliseconds since 1970. */
  readonly completedAt: number;
  /** Rows that break the rule. */
  readonly failures: number | null;
}

/** What one invocation of dbt has built and tested. */
export type RunResultsReading =
  | {
      readonly ok: true;
      readonly builds: readonly NodeBuild[];
      readonly tests: readonly TestRun[];
      /** `build`, `run`, …; null where it is not told. */
      readonly command: string | null;
    }
  | Failure;

/** Reads the text of dbt's `run_results.json`, of any schema version; `location` is only for messages. */
export function parseRunResults(text: string, location: string): RunResultsReading {
  const json = parseJson(text, location);
  if (!json.ok) return json;
  const { metadata, results, args } = objectOr(json.value);
  const { dbt_schema_version: schema, generated_at } = objectOr(metadata);
  const written = instantOf(generated_at);
  if (!textOr(schema, "").includes("/run-results/") || !Array.isArray(results) || written === null)
    return fail(`${location} is no dbt run_results.json. Give the one that \`dbt build\` writes to target/.`);
  const command = textOr(objectOr(args)["which"], "") || null;
  const tests = results.flatMap((result) => testOf(objectOr(result), written));
  if (BUILDS_NOTHING.has(command)) return { ok: true, builds: [], tests, command };
  const builds = results.filter(isObject).flatMap((result) => buildOf(result, written));
  return { ok: true, builds, tests, command };
}

/** Commands that call what they have compiled or tested a success, and have built none of it. */
const BUILDS_NOTHING: ReadonlySet<string | null> = new Set([
  "compile",
  "generate",
  "show",
  "test",
  "run-operation",
]);

/** A batch that fails leaves those before it standing. `pass` and `warn` are of tests. */
const BUILT: ReadonlySet<Json> = new Set(["success", "partial success"]);

/** Statuses of a node that failed. One that dbt could not compile was not touched: it has no `execute` phase. */
const FAILED: ReadonlySet<Json> = new Set(["error", "runtime error"]);

function buildOf(result: JsonObject, written: number): readonly NodeBuild[] {
  const { unique_id, status, adapter_response } = result;
  const node = textOr(unique_id, "");
  const failed = FAILED.has(status) && executionOf(result) !== undefined;
  if (node === "" || node.startsWith("test.") || !(failed || BUILT.has(status))) return [];
  const { rows_affected: rows } = objectOr(adapter_response);
  return [
    {
      node,
      completedAt: completedAt(result, written),
      rows: isCount(rows) ? rows : null,
      ...(failed && { failed }),
    },
  ];
}

/** One that was skipped says nothing: what was known of it before still holds. */
const TEST_STATUSES = ["pass", "warn", "fail", "error"] as const;

function testOf(result: JsonObject, written: number): readonly TestRun[] {
  const { unique_id, failures } = result;
  const test = textOr(unique_id, "");
  const status = TEST_STATUSES.find((known) => known === result["status"]);
  if (status === undefined || !test.startsWith("test.")) return [];
  const count = isCount(failures) ? failures : null;
  return [{ test, status, completedAt: completedAt(result, written), failures: count }];
}

/** dbt writes -1 for what the database did not tell. */
function isCount(value: Json): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function phasesOf({ timing }: JsonObject): readonly JsonObject[] {
  return Array.isArray(timing) ? timing.filter(isObject) : [];
}

function executionOf(result: JsonObject): JsonObject | undefined {
  return phasesOf(result).find(({ name }) => name === "execute");
}

function completedAt(result: JsonObject, written: number): number {
  const phase = executionOf(result) ?? phasesOf(result).at(-1);
  return instantOf(phase?.["completed_at"]) ?? written;
}

/** dbt writes times in UTC, with microseconds; its older versions with a space in them, or without the `Z`. */
function instantOf(value: Json): number | null {
  const [, date, time, zone = "Z"] =
    /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:\.\d+)?)(Z|[+-]\d\d:\d\d)?$/.exec(textOr(value, "")) ?? [];
  const instant = Date.parse(`${String(date)}T${String(time)}${zone}`);
  return Number.isNaN(instant) ? null : instant;
}
