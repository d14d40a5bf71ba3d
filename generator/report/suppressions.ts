/** What a repository accepts of what a run finds: it is reported, and does not fail the run. */
export interface Suppression {
  readonly reason: string;
  /** The last day on which it holds, `YYYY-MM-DD`; null: no limit. */
  readonly expires: string | null;
}

/** Whether a suppression holds: through its last day. `today` is `YYYY-MM-DD`. */
export function holdsOn(today: string, lastDay: string | null): boolean {
  return lastDay === null || lastDay >= today;
}

/** What a run found, by suppressions; everything in its order. */
export interface Suppressed<Found, Entry extends Suppression> {
  readonly unaccepted: readonly Found[];
  readonly accepted: readonly { readonly found: Found; readonly suppression: Entry }[];
  /** Suppressions that match nothing. */
  readonly unused: readonly Entry[];
  /** Suppressions past their last day: they match and accept no more. */
  readonly expired: readonly Entry[];
}

/** Applies suppressions: of `lint`, `diff` and `verify` alike. The identities say which suppression means which finding. */
export function applySuppressions<Found, Entry extends Suppression>(
  found: readonly Found[],
  suppressions: readonly Entry[],
  identityOf: (one: Found | Entry) => string,
  today: string,
): Suppressed<Found, Entry> {
  const identities = new Set(found.map(identityOf));
  const holds = ({ expires }: Entry): boolean => holdsOn(today, expires);
  const byIdentity = new Map(
    suppressions.filter(holds).map((suppression) => [identityOf(suppression), suppression]),
  );
  const pairs = found.map((one) => ({ found: one, suppression: byIdentity.get(identityOf(one)) }));
  const isMet = (suppression: Entry): boolean => identities.has(identityOf(suppression));
  return {
    unaccepted: pairs.flatMap((pair) => (pair.suppression === undefined ? [pair.found] : [])),
    accepted: pairs.flatMap(({ found, suppression }) =>
      suppression === undefined ? [] : [{ found, suppression }],
    ),
    unused: suppressions.filter((suppression) => !isMet(suppression)),
    expired: suppressions.filter((suppression) => isMet(suppression) && !holds(suppression)),
  };
}
