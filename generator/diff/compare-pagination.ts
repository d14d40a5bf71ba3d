import type { Pagination } from "@routewright/runtime/model";
import type { Difference } from "./change.js";

/** What differs in pages: turned on or off as a whole, else each number and the shape of the answer. */
export function comparePagination(base: Pagination | null, head: Pagination | null): readonly Difference[] {
  if (base === null) return head === null ? [] : [{ kind: "pagination-enabled", after: pagesText(head) }];
  if (head === null) return [{ kind: "pagination-disabled", before: pagesText(base) }];
  const [before, after] = [base.response, head.response];
  return [
    ...compareLimit("default", base.defaultLimit, head.defaultLimit),
    ...compareLimit("max", base.maxLimit, head.maxLimit),
    ...(before === after ? [] : [{ kind: "response-mode-changed", before, after } as const]),
  ];
}

function compareLimit(limit: "default" | "max", base: number, head: number): readonly Difference[] {
  if (base === head) return [];
  const kind = `${limit}-limit-${head < base ? "lowered" : "raised"}` as const;
  return [{ kind, before: String(base), after: String(head) }];
}

function pagesText({ defaultLimit, maxLimit, response }: Pagination): string {
  return `${String(defaultLimit)} rows, at most ${String(maxLimit)}, as ${response}`;
}
