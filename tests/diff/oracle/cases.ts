import { manifestWith, nothing, type Raw, type Row } from "../feature-model.js";

/** One change in one direction, which is judged and served. */
export interface Case {
  /** With `→` forwards and `←` backwards. */
  readonly change: string;
  readonly base: Raw;
  readonly head: Raw;
}

/** The two manifests of each row of a table, in both directions. */
export function casesOf(rows: readonly Row[]): readonly Case[] {
  return rows.flatMap(({ change, given = nothing, edit }) => {
    const [base, head] = [manifestWith(given), manifestWith(given, edit)];
    return [
      { change: `${change} →`, base, head },
      { change: `${change} ←`, base: head, head: base },
    ];
  });
}
