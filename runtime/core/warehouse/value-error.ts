import type { DatabaseType } from "../model/column-types.js";
import { type HttpError, httpError } from "../model/errors.js";
import { operatorOf } from "../model/operators.js";
import type { Condition } from "../model/query.js";
import type { FilterType } from "./filter-type.js";

/** Why a column of a type cannot be compared with the value of a condition; null where it can. */
export function valueError(
  condition: Condition,
  { refusal, text }: DatabaseType,
  typeOf: () => FilterType,
): HttpError | null {
  const { name, operator, value } = condition;
  const kind = operatorOf(operator).value;
  const asText = kind === "pattern" || "case" in condition;
  if (kind !== "flag" && (refusal !== undefined || (asText && text === "none")))
    return httpError("notFilterable", { name });
  if (kind !== "typed") return null;
  const type = typeOf();
  const values = typeof value === "string" ? [value] : value;
  return values.some((each) => type.parse(each) === undefined)
    ? httpError("valueNotOfType", { name, type: type.kindText })
    : null;
}
