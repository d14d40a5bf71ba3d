import type { AskedGrouping } from "../core/model/aggregate/aggregate.js";
import type { SortKey } from "../core/model/endpoint.js";
import { httpError, isHttpError, type Result } from "../core/model/errors.js";
import type { RawFields } from "../core/model/query.js";
import { readSingle } from "../core/request/request-fields.js";
import { answeredNames } from "./answer-rows.js";

/** The caller's sort, or that of the saved query, then all that identifies a row. The row of other groups is behind all others. */
export function readGroupSort(grouping: AskedGrouping, fields: RawFields): Result<readonly SortKey[]> {
  const { groups, options = {}, aggregate } = grouping;
  const first: readonly SortKey[] = options.top?.others === true ? [["other", "ASC"]] : [];
  const last: readonly SortKey[] = options.totals === true ? [["level", "DESC"]] : [];
  const keys = [...groups.map(({ key }): SortKey => [key, "ASC"]), ...last];
  const [by, direction] = ["sort_by", "sort_direction"].map((name) => {
    const raw = fields.get(name);
    return raw === undefined ? null : readSingle(name, raw);
  });
  if (isHttpError(by)) return by;
  if (isHttpError(direction)) return direction;
  if (by === null || by === undefined)
    return direction === null
      ? distinct([...first, ...(aggregate.saved?.sort ?? []), ...keys])
      : httpError("sortDirectionAlone");
  const names = answeredNames(grouping);
  if (!names.includes(by)) return httpError("sortField", { names: names.join(", ") });
  const upper = (direction ?? (options.top === undefined ? "ASC" : "DESC")).toUpperCase();
  if (upper !== "ASC" && upper !== "DESC") return httpError("sortDirection");
  return distinct([...first, [by, upper], ...keys]);
}

function distinct(keys: readonly SortKey[]): readonly SortKey[] {
  return keys.filter(([column], i) => keys.findIndex(([other]) => other === column) === i);
}
