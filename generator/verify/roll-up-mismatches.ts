import type { RollUp } from "@routewright/runtime/model";
import type { CatalogueEntry } from "../catalogue/catalogue.js";
import { list, sentence } from "../manifest/strings.js";
import { type Mismatch, mismatchAt } from "./checks.js";
import { groupKey, type GroupLine, totalKey } from "./roll-up-groups.js";

export function uncompared(
  entry: CatalogueEntry,
  { relation, of }: RollUp,
  limitMs: number,
): readonly Mismatch[] {
  return mismatchAt(
    entry,
    "uncompared-roll-up",
    sentence`The roll-up ${relation.join(".")} was not compared with the rows of ${of}: reading those of its first or last groups takes too long.`,
    `It was given ${String(limitMs / 1000)} s. Give the rows an index on the time that it groups by (ClickHouse: a place in the sorting key), or compare both in a test of dbt.`,
  );
}

export function unread(entry: CatalogueEntry, { relation, of }: RollUp): readonly Mismatch[] {
  return mismatchAt(
    entry,
    "unread-roll-up",
    sentence`The roll-up ${relation.join(".")} is not read: it does not exist, or its columns have other types than the rows of ${of}.`,
    "Build it; give groups the types of what they group, days the type of a date, and sums a type that holds all digits.",
  );
}

/** Names columns and no values: reports stand in the logs of CI. */
export function wrong(
  entry: CatalogueEntry,
  { relation, of, groups, totals }: RollUp,
  own: GroupLine | undefined,
  other: GroupLine | undefined,
): readonly Mismatch[] {
  const isSameGroup = groups.every((_, i) => own?.values[groupKey(i)] === other?.values[groupKey(i)]);
  const columns = totals
    .filter((_, i) => own?.values[totalKey(i)] !== other?.values[totalKey(i)])
    .map(({ column }) => column);
  const name = relation.join(".");
  const by = list(groups.map(({ column }) => column));
  return mismatchAt(
    entry,
    "wrong-roll-up",
    isSameGroup
      ? sentence`The roll-up ${name} has other totals than the rows of ${of} in a group by ${by}: ${list(columns)}.`
      : sentence`The roll-up ${name} and the rows of ${of} have other groups by ${by}.`,
    "Build it after the model that it reads, and correct its SQL: one row for each combination of its groups, days in UTC. A query that joins it to the grouped rows finds the groups that differ.",
  );
}
