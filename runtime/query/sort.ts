import type { Direction, Endpoint, SortKey } from "../model/endpoint.js";
import { httpError, type HttpError } from "../model/errors.js";
import type { RawFields } from "./raw.js";
import { readSingle } from "./values.js";

/** The order of the rows: the caller's choice first, the fixed sort behind it as tie-breaker (decisions.md §A). */
export function readSort(
  { sort, sortableFields }: Endpoint,
  fields: RawFields,
): { keys: readonly SortKey[] } | HttpError {
  const by = readField("sort_by", fields);
  const direction = readField("sort_direction", fields);
  if (typeof by === "object" && by !== null) return by;
  if (typeof direction === "object" && direction !== null) return direction;
  if (by === null && direction === null) return { keys: sort };
  if (sortableFields.length === 0) return httpError("notSortable");
  if (by === null) return httpError("sortDirectionAlone");
  if (!sortableFields.includes(by)) return httpError("sortField", { names: sortableFields.join(", ") });
  const upper = (direction ?? "ASC").toUpperCase();
  if (!isDirection(upper)) return httpError("sortDirection");
  return { keys: [[by, upper], ...sort.filter(([column]) => column !== by)] };
}

function readField(name: string, fields: RawFields): string | HttpError | null {
  const raw = fields.get(name);
  return raw ? readSingle(name, raw) : null;
}

function isDirection(text: string): text is Direction {
  return text === "ASC" || text === "DESC";
}
