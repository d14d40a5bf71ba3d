import { isWithin } from "../currency/amount.js";
import type { Connection } from "./connections.js";
import type { Pair, Rail } from "./protocol.js";

/** What a caller wants moved; null where it does not matter. */
export interface Path {
  readonly srcCurrencyCode: string;
  readonly destCurrencyCode: string;
  readonly srcAmount: string | null;
  readonly countryCode: string | null;
  readonly rail: Rail | null;
}

/** A provider that offers the path, and over which rails. */
export interface Candidate {
  readonly connection: Connection;
  readonly pairs: readonly [Pair, ...Pair[]];
}

export function candidatesFor(connections: readonly Connection[], path: Path): readonly Candidate[] {
  return connections.flatMap((connection) => {
    const [first, ...others] = connection.capabilities.pairs.filter((pair) => offers(pair, path));
    return first ? [{ connection, pairs: [first, ...others] as const }] : [];
  });
}

function offers(
  pair: Pair,
  { srcCurrencyCode, destCurrencyCode, srcAmount, countryCode, rail }: Path,
): boolean {
  return (
    pair.srcCurrencyCode === srcCurrencyCode &&
    pair.destCurrencyCode === destCurrencyCode &&
    (rail === null || pair.rail === rail) &&
    (countryCode === null || pair.countries.includes(countryCode)) &&
    (srcAmount === null || isWithin(srcAmount, pair.minSrcAmount, pair.maxSrcAmount))
  );
}
