import type { CatalogueEntry, ColumnFacts } from "../catalogue/catalogue.js";
import type { Difference } from "./change.js";

/** What differs in what dbt tests guarantee of a column's values (generator/README.md, Tests). */
export function compareGuarantees(base: CatalogueEntry, head: CatalogueEntry): readonly Difference[] {
  const kept = base.endpoint.columns.filter((column) =>
    head.endpoint.columns.some(({ name }) => name === column.name),
  );
  return kept.flatMap(({ name: subject }) => {
    const [was, is] = [base, head].map(({ facts }) => facts.columns.get(subject) ?? {}) as [Facts, Facts];
    const found = [compareAcceptedValues, compareRanges, compareUnique, compareReferences].flatMap(
      (compare) => compare(was, is),
    );
    return found.map((difference) => ({ subject, ...difference }));
  });
}

/** A column without tests has none. */
type Facts = Partial<ColumnFacts>;

function compareAcceptedValues(was: Facts, is: Facts): readonly Difference[] {
  const [before, after] = [was.acceptedValues ?? null, is.acceptedValues ?? null];
  const isWider = before !== null && (after === null || after.some((value) => !before.includes(value)));
  const isNarrower = after !== null && (before === null || before.some((value) => !after.includes(value)));
  if (!isWider && !isNarrower) return [];
  const kind = isWider ? "accepted-values-widened" : "accepted-values-narrowed";
  return [{ kind, before: valuesText(before), after: valuesText(after) }];
}

function valuesText(values: readonly string[] | null): string {
  return values === null ? "any value" : values.join(", ");
}

function compareRanges(was: Facts, is: Facts): readonly Difference[] {
  const [before, after] = [boundsOf(was), boundsOf(is)];
  const isWider = reachesBeyond(after, before);
  if (!isWider && !reachesBeyond(before, after)) return [];
  const kind = isWider ? "range-widened" : "range-narrowed";
  return [{ kind, before: rangeText(was), after: rangeText(is) }];
}

/** A bound as a number and whether it is outside of the range itself: 1 is. */
type Bound = readonly [value: number, outside: 0 | 1];

/** Both bounds with the sign of a lower one: the smaller reaches further. */
function boundsOf({ minimum, maximum, exclusive }: Facts): readonly [lower: Bound, upper: Bound] {
  const outside = exclusive ? 1 : 0;
  return [
    minimum === undefined ? [-Infinity, 0] : [minimum, outside],
    maximum === undefined ? [-Infinity, 0] : [-maximum, outside],
  ];
}

function reachesBeyond(one: readonly [Bound, Bound], other: readonly [Bound, Bound]): boolean {
  return one.some(([value, outside], i) => {
    const [otherValue, otherOutside] = other[i] ?? [value, outside];
    return value < otherValue || (value === otherValue && outside < otherOutside);
  });
}

/** `0 to 100`, `more than 0`, `any number`. */
function rangeText({ minimum, maximum, exclusive }: Facts): string {
  if (minimum === undefined && maximum === undefined) return "any number";
  const lower = minimum === undefined ? "" : `${exclusive ? "more than" : "at least"} ${String(minimum)}`;
  const upper = maximum === undefined ? "" : `${exclusive ? "less than" : "at most"} ${String(maximum)}`;
  return [lower, upper].filter((text) => text !== "").join(", ");
}

function compareUnique(was: Facts, is: Facts): readonly Difference[] {
  if (was.unique === is.unique) return [];
  const text = (isUnique: true | undefined) => (isUnique ? "unique" : "not known to be unique");
  const kind = is.unique ? "unique-test-added" : "unique-test-removed";
  return [{ kind, before: text(was.unique), after: text(is.unique) }];
}

function compareReferences({ references: was }: Facts, { references: is }: Facts): readonly Difference[] {
  if (was === is) return [];
  const kind = was === undefined ? "reference-added" : "reference-changed";
  return [{ kind, before: was ?? "any value", after: is ?? "any value" }];
}
