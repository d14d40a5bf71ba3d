import { failed, type FreshnessCheck, type Outcome, succeeded } from "@routewright/runtime/model";
import { type JsonObject, objectOr, objectsOf, textOr } from "./json.js";
import { parseJson } from "./json-text.js";
import { secondsOf } from "./node-meta.js";
import { timestampOf } from "./run-results.js";

/** Reads the text of dbt's `sources.json` or `freshness.json`, of any schema version; `location` is only for messages. */
export function parseFreshnessResults(text: string, location: string): Outcome<readonly FreshnessCheck[]> {
  const json = parseJson(text, location);
  if (!json.ok) return json;
  const { metadata, results } = objectOr(json.value);
  const schema = textOr(objectOr(metadata)["dbt_schema_version"], "");
  if (!/\/(?:sources|freshness)\//.test(schema) || !Array.isArray(results))
    return failed(
      `${location} is neither a dbt sources.json nor a freshness.json. Give the one that \`dbt source freshness\` or \`dbt freshness\` writes to target/.`,
    );
  return succeeded(objectsOf(results).flatMap(checkOf));
}

/** A check that failed found no load: the one before it remains. */
function checkOf({
  unique_id,
  max_loaded_at,
  snapshotted_at,
  criteria,
}: JsonObject): readonly FreshnessCheck[] {
  const node = textOr(unique_id, "");
  const [loadedAt, checkedAt] = [timestampOf(max_loaded_at), timestampOf(snapshotted_at)];
  if (node === "" || loadedAt === null || checkedAt === null) return [];
  const { warn_after, error_after } = objectOr(criteria);
  return [
    { node, checkedAt, loadedAt, warnAfter: secondsOf(warn_after), errorAfter: secondsOf(error_after) },
  ];
}
