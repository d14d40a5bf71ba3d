import type { Endpoint } from "@routewright/runtime/model";
import type { Difference } from "./change.js";

/** What differs in the order of rows, fixed and chosen. */
export function compareSorting(base: Endpoint, head: Endpoint): readonly Difference[] {
  const removed = base.sortableFields.filter((field) => !head.sortableFields.includes(field));
  const added = head.sortableFields.filter((field) => !base.sortableFields.includes(field));
  return [
    ...compareFixedSort(base, head),
    ...removed.map((subject) => ({ kind: "sortable-field-removed", subject, before: subject }) as const),
    ...added.map((subject) => ({ kind: "sortable-field-added", subject, after: subject }) as const),
  ];
}

/** Keys added behind the old ones only settle ties: rows are still in the order that consumers know. */
function compareFixedSort(base: Endpoint, head: Endpoint): readonly Difference[] {
  const [was, is] = [keysOf(base), keysOf(head)];
  const isKept = was.every((key, i) => key === is[i]);
  if (isKept && was.length === is.length) return [];
  const before = was.length === 0 ? {} : { before: was.join(", ") };
  const after = is.length === 0 ? {} : { after: is.join(", ") };
  return [{ kind: isKept ? "sort-extended" : "sort-changed", ...before, ...after }];
}

function keysOf({ sort }: Endpoint): readonly string[] {
  return sort.map(([column, direction]) => `${column} ${direction}`);
}
