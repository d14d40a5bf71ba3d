/** What a repository accepts of what a run finds: it is reported, and does not fail the run. */
export interface Waiver {
  readonly reason: string;
  /** The last day on which it holds, `YYYY-MM-DD`; null: no limit. */
  readonly expires: string | null;
}

/** Whether a waiver holds: through its last day. `today` is `YYYY-MM-DD`. */
export function holdsOn(today: string, lastDay: string | null): boolean {
  return lastDay === null || lastDay >= today;
}

/** What a run found, by waivers; everything in its order. */
export interface Waived<Found, Entry extends Waiver> {
  readonly unaccepted: readonly Found[];
  readonly accepted: readonly { readonly found: Found; readonly waiver: Entry }[];
  /** Waivers that match nothing. */
  readonly unused: readonly Entry[];
  /** Waivers past their last day: they match and accept no more. */
  readonly expired: readonly Entry[];
}

/** Applies waivers: of `lint`, `diff` and `verify` alike. The identities say which waiver means which finding. */
export function applyWaivers<Found, Entry extends Waiver>(
  found: readonly Found[],
  waivers: readonly Entry[],
  identityOf: (one: Found | Entry) => string,
  today: string,
): Waived<Found, Entry> {
  const identities = new Set(found.map(identityOf));
  const holds = ({ expires }: Entry): boolean => holdsOn(today, expires);
  const byIdentity = new Map(waivers.filter(holds).map((waiver) => [identityOf(waiver), waiver]));
  const pairs = found.map((one) => ({ found: one, waiver: byIdentity.get(identityOf(one)) }));
  const isMet = (waiver: Entry): boolean => identities.has(identityOf(waiver));
  return {
    unaccepted: pairs.flatMap((pair) => (pair.waiver === undefined ? [pair.found] : [])),
    accepted: pairs.flatMap(({ found, waiver }) => (waiver === undefined ? [] : [{ found, waiver }])),
    unused: waivers.filter((waiver) => !isMet(waiver)),
    expired: waivers.filter((waiver) => isMet(waiver) && !holds(waiver)),
  };
}
