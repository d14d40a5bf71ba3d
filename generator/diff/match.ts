import type { Published } from "./snapshot.js";

/** One endpoint as it was and as it is. */
export interface Pair {
  readonly base: Published;
  readonly head: Published;
}

/** Which endpoint of the head is which of the base, and what has no counterpart. */
export interface Matching {
  readonly pairs: readonly Pair[];
  readonly removed: readonly Published[];
  readonly added: readonly Published[];
}

/**
 * Pairs endpoints by path, since that is what consumers call; of the rest, those of one model, which has moved. A path
 * that another model has taken over stays a pair: it is served still.
 */
export function matchEndpoints(base: readonly Published[], head: readonly Published[]): Matching {
  const byPath = pairBy(base, head, ({ endpoint }) => endpoint.path);
  const byId = pairBy(byPath.removed, byPath.added, ({ uniqueId }) => uniqueId);
  // A generated folder tells no `unique_id`, and a renamed dbt project changes all of them.
  const byName = pairBy(byId.removed, byId.added, ({ endpoint }) => endpoint.model);
  return { ...byName, pairs: [...byPath.pairs, ...byId.pairs, ...byName.pairs] };
}

/** Pairs those that alone on their side have a key, so that no pair is a guess. */
function pairBy(
  base: readonly Published[],
  head: readonly Published[],
  keyOf: (published: Published) => string | null,
): Matching {
  const [ofBase, ofHead] = [singles(base, keyOf), singles(head, keyOf)];
  const pairs = [...ofBase].flatMap(([key, was]) => {
    const is = ofHead.get(key);
    return is === undefined ? [] : [{ base: was, head: is }];
  });
  const paired = new Set(pairs.flatMap((pair) => [pair.base, pair.head]));
  const rest = (side: readonly Published[]) => side.filter((published) => !paired.has(published));
  return { pairs, removed: rest(base), added: rest(head) };
}

function singles(side: readonly Published[], keyOf: (published: Published) => string | null) {
  const single = new Map<string, Published>();
  const repeated = new Set<string>();
  for (const published of side) {
    const key = keyOf(published);
    if (key === null) continue;
    if (single.has(key)) repeated.add(key);
    single.set(key, published);
  }
  for (const key of repeated) single.delete(key);
  return single;
}
