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
}

/** What one invocation of dbt has built. */
export type RunResultsReading =
  | {
      readonly ok: true;
      readonly builds: readonly NodeBuild[];
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
  if (BUILDS_NOTHING.has(command)) return { ok: true, builds: [], command };
  return {
    ok: true,
    builds: results.filter(isObject).flatMap((result) => buildOf(result, written)),
    command,
  };
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

function buildOf({ unique_id, status, timing }: JsonObject, written: number): readonly NodeBuild[] {
  const node = textOr(unique_id, "");
  const phases = Array.isArray(timing) ? timing.filter(isObject) : [];
  const execution = phases.find(({ name }) => name === "execute");
  const failed = FAILED.has(status) && execution !== undefined;
  if (node === "" || !(failed || BUILT.has(status))) return [];
  const completedAt = instantOf((execution ?? phases.at(-1))?.["completed_at"]) ?? written;
  return [{ node, completedAt, ...(failed && { failed }) }];
}

/** dbt writes times in UTC, with microseconds; its older versions with a space in them, or without the `Z`. */
function instantOf(value: Json): number | null {
  const [, date, time, zone = "Z"] =
    /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:\.\d+)?)(Z|[+-]\d\d:\d\d)?$/.exec(textOr(value, "")) ?? [];
  const instant = Date.parse(`${String(date)}T${String(time)}${zone}`);
  return Number.isNaN(instant) ? null : instant;
}
