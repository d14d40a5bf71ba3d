import type { Skipped } from "../catalogue/catalogue.js";
import { type Change, type Difference, inOrder } from "./change.js";
import { compareDocumentation } from "./compare-documentation.js";
import { compareEndpoints } from "./compare-endpoints.js";
import { matchEndpoints, type Pair } from "./match.js";
import type { Published, Snapshot } from "./snapshot.js";

/**
 * All that consumers of the base will notice in the head, in order. Pure: `today`, `YYYY-MM-DD`, is for telling whether
 * an endpoint has gone before its sunset or after.
 */
export function compareSnapshots(base: Snapshot, head: Snapshot, today: string): readonly Change[] {
  const { pairs, removed, added } = matchEndpoints(base.published, head.published);
  const changes = [
    ...pairs.flatMap(comparePair),
    ...removed.map((published) => removal(published, head.skipped, today)),
    ...added.map((published) => place(published, { kind: "endpoint-added", after: published.endpoint.path })),
  ];
  return changes.sort(inOrder);
}

function comparePair({ base, head }: Pair): readonly Change[] {
  const differences = [
    ...compareEndpoints(base.endpoint, head.endpoint),
    ...compareDocumentation(base, head),
  ];
  const { path, tier } = base.endpoint;
  const { model } = head.endpoint;
  const file = head.file ?? (model === base.endpoint.model ? base.file : null);
  return differences.map((difference) => ({ ...place(head, difference), endpoint: path, tier, file }));
}

function removal(published: Published, skipped: readonly Skipped[], today: string): Change {
  const { path, deprecationDate } = published.endpoint;
  const isDue = deprecationDate !== null && deprecationDate.slice(0, 10) <= today;
  const reason = skipped.find(({ model }) => isOf(published, model));
  const change = place(published, {
    kind: isDue ? "endpoint-retired" : "endpoint-removed",
    before: path,
    details: reason === undefined ? [] : detailsOf(reason),
  });
  return { ...change, file: reason?.file || published.file };
}

/** Whether a `unique_id` is that of a published model: a generated folder knows only the name in it. */
function isOf({ uniqueId, endpoint }: Published, id: string): boolean {
  return uniqueId === null ? id.split(".")[2] === endpoint.model : uniqueId === id;
}

const REASONS = {
  invalid: "The model is invalid, so it has no endpoint any more:",
  "path-taken": "Another model has taken its path:",
  excluded: "The model is excluded by meta.api.exclude_from_api.",
} as const satisfies Record<Skipped["reason"], string>;

function detailsOf({ reason, problems }: Skipped): string[] {
  return [REASONS[reason], ...problems.map(({ path, message, hint }) => `${path}: ${message} ${hint}`)];
}

function place({ endpoint, file }: Published, difference: Difference): Change {
  const { kind, subject = null, before = null, after = null, details = [] } = difference;
  const { path, model, tier } = endpoint;
  return { kind, endpoint: path, model, file, tier, subject, before, after, details };
}
