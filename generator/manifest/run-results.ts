import {
  BuildRecords,
  type NodeBuild,
  type Outcome,
  failed,
  isOfArtifacts,
  readGenerationEnvironment,
  succeeded,
  type TestRun,
} from "@routewright/runtime/model";
import { isObject, type JsonObject, objectOr, objectsOf, textOr } from "./json.js";
import { parseJson } from "./json-text.js";
import { accessOf } from "../artifacts/access.js";
import { RUN_RESULTS_WRITER } from "../artifacts/artifacts.js";
import { readSource } from "../artifacts/source.js";

/** The results of one dbt invocation. */
export interface InvocationResults {
  readonly builds: readonly NodeBuild[];
  readonly tests: readonly TestRun[];
  /** `build`, `run`, …; null where the file does not name it. */
  readonly command: string | null;
}

/** Reads the text of dbt's `run_results.json`, of any schema version; `location` is only for messages. */
export function parseRunResults(text: string, location: string): Outcome<InvocationResults> {
  const json = parseJson(text, location);
  if (!json.ok) return json;
  const { metadata, results, args } = objectOr(json.value);
  const { dbt_schema_version: schema, generated_at } = objectOr(metadata);
  const generatedAt = timestampOf(generated_at);
  if (!textOr(schema, "").includes("/run-results/") || !Array.isArray(results) || generatedAt === null)
    return failed(
      `${location} is not a dbt run_results.json. Give the one that \`dbt build\` writes to target/.`,
    );
  const command = textOr(objectOr(args)["which"], "") || null;
  const tests = results.flatMap((result) => testOf(objectOr(result), generatedAt));
  if (BUILDS_NOTHING.has(command)) return succeeded({ builds: [], tests, command });
  const builds = results.filter(isObject).flatMap((result) => buildOf(result, generatedAt, command));
  return succeeded({ builds, tests, command });
}

/** What dbt has built, by a `run_results.json`. */
export interface RecordedBuilds {
  readonly records: BuildRecords;
  /** The file; null where the variables name none, or an optional one is missing. */
  readonly location: string | null;
  /** Why the file tells no build. */
  readonly problem: string | null;
}

/** What dbt has built, by the `run_results.json` that the variables name; nothing where they name none. */
export async function recordedBuilds(variables: NodeJS.ProcessEnv): Promise<Outcome<RecordedBuilds>> {
  const records = new BuildRecords();
  const none = { records, location: null, problem: null };
  const { environment } = readGenerationEnvironment(variables);
  const { artifacts, runResults } = environment;
  if (runResults === null) return succeeded(none);
  const source = await readSource(runResults, { writer: RUN_RESULTS_WRITER }, accessOf(environment));
  if (!source.ok)
    return source.isMissing && isOfArtifacts(runResults, artifacts, "runResults") ? succeeded(none) : source;
  const { text, location } = source.value;
  const results = parseRunResults(text, location);
  if (!results.ok) return results;
  records.record(results.value.builds, results.value.tests);
  return succeeded({ records, location, problem: noBuild(results.value, location) });
}

/** Why results tell no build: `dbt docs generate` and `dbt test` write over those of the build before. Null where they do. */
export function noBuild(
  { builds, command }: Pick<InvocationResults, "builds" | "command">,
  location: string,
): string | null {
  if (builds.some(({ failed }) => !failed)) return null;
  const known = command === "generate" ? "docs generate" : command?.slice(0, 40);
  const writer = known === undefined ? "" : ` (\`dbt ${known}\` wrote it)`;
  return `${location} reports no successful build${writer}: give the one that \`dbt build\` writes.`;
}

/** Commands that report `success` for nodes that they did not build; `generate` is that of `dbt docs generate`. */
const BUILDS_NOTHING: ReadonlySet<string | null> = new Set([
  "compile",
  "generate",
  "show",
  "test",
  "run-operation",
]);

/** Statuses that leave a relation as it was. Any other counts as a build, so that an unknown one costs a cached result only. */
const UNCHANGED: ReadonlySet<unknown> = new Set(["skipped", "no-op", "noop"]);

/** Statuses of a failed node. Without an `execute` phase dbt did not run its SQL, so the relation is unchanged. */
const FAILED: ReadonlySet<unknown> = new Set(["error", "runtime error", "canceled", "cancelled"]);

function buildOf(result: JsonObject, generatedAt: number, command: string | null): readonly NodeBuild[] {
  const { unique_id, status, adapter_response } = result;
  const node = textOr(unique_id, "");
  const failed = FAILED.has(status);
  if (!/^(?!test\.|unit_test\.)./.test(node) || UNCHANGED.has(status)) return [];
  if (failed && executionOf(result) === undefined) return [];
  const { rows_affected: rows } = objectOr(adapter_response);
  return [
    {
      node,
      completedAt: completedAt(result, generatedAt),
      ...(status === "success" && command !== "clone" && startedAt(result)),
      rows: isCount(rows) ? rows : null,
      ...(failed && { failed }),
      ...(isUntouched(result) && { reused: true }),
    },
  ];
}

/** dbt 2 reports a clone, which replaces the relation, as `reused` too; only its message tells them apart. */
function isUntouched({ status, message }: JsonObject): boolean {
  return status === "reused" && typeof message === "string" && !/clon(e|ing)/i.test(message);
}

const TEST_STATUSES = ["pass", "warn", "fail", "error", "skipped"] as const;

function testOf(result: JsonObject, generatedAt: number): readonly TestRun[] {
  const { unique_id, failures } = result;
  const test = textOr(unique_id, "");
  const status = TEST_STATUSES.find((known) => known === result["status"]);
  if (status === undefined || !test.startsWith("test.")) return [];
  const count = isCount(failures) ? failures : null;
  return [{ test, status, completedAt: completedAt(result, generatedAt), failures: count }];
}

/** dbt writes -1 if the database reports no count. */
function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function phasesOf({ timing }: JsonObject): readonly JsonObject[] {
  return objectsOf(timing);
}

function executionOf(result: JsonObject): JsonObject | undefined {
  return phasesOf(result).find(({ name }) => name === "execute");
}

function completedAt(result: JsonObject, generatedAt: number): number {
  const phase = executionOf(result) ?? phasesOf(result).at(-1);
  return timestampOf(phase?.["completed_at"]) ?? generatedAt;
}

/** When the SQL began that made all rows; a clone has those of a build elsewhere. */
function startedAt(result: JsonObject): Pick<NodeBuild, "startedAt"> {
  const started = timestampOf(executionOf(result)?.["started_at"]);
  return started === null ? {} : { startedAt: started };
}

/** dbt writes times in UTC, with microseconds; older versions with a space, or without the `Z`. */
export function timestampOf(value: unknown): number | null {
  const [, date, time, zone = "Z"] =
    /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:\.\d+)?)(Z|[+-]\d\d:\d\d)?$/.exec(textOr(value, "")) ?? [];
  const instant = Date.parse(`${String(date)}T${String(time)}${zone}`);
  return Number.isNaN(instant) ? null : instant;
}
