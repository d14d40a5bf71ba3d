import type { Constraint } from "../manifest/constraints.js";
import type { Model } from "../manifest/model.js";

/** What is enforced of the rows (`enforced` of `CatalogueEntry`); a `check` that names private data is not told. */
export function enforcedOf({ hasContract, constraints, columns, isPrivate }: Model): readonly string[] {
  const names = columns
    .filter((column) => isPrivate || column.isPrivate)
    .map(({ name }) => name.toLowerCase());
  const isPublic = ({ type, columns: own, expression }: Constraint): boolean =>
    type !== "check" ||
    !names.some(
      (name) => own.some((each) => each.toLowerCase() === name) || expression.toLowerCase().includes(name),
    );
  const texts = constraints.filter(isPublic).map(constraintText);
  return [...new Set([...(hasContract ? ["contract"] : []), ...texts])];
}

/** As in SQL: `primary key (id)`, `check (total >= 0)`. */
function constraintText({ type, columns, expression }: Constraint): string {
  return `${type.replace("_", " ")} (${type === "check" ? expression : columns.join(", ")})`;
}

/** In a sentence, as documents have it: columns that are never null together. */
export function enforcedText(enforced: readonly string[]): string {
  const neverNull = enforced.flatMap((each) => NOT_NULL.exec(each)?.[1] ?? []);
  const others = enforced.filter((each) => each !== "contract" && !NOT_NULL.test(each));
  const all = [
    ...(enforced.includes("contract") ? ["names and types of the columns"] : []),
    ...(neverNull.length === 0 ? [] : [`\`not null (${neverNull.join(", ")})\``]),
    ...others.map((each) => `\`${each}\``),
  ];
  return `Enforced when rows are built: ${all.join("; ")}.`;
}

const NOT_NULL = /^not null \((.*)\)$/s;
