import type { Endpoint } from "@routewright/runtime/model";
import type { Difference } from "./change.js";

/** What consumers are told of an endpoint's end, and of what comes after it. */
export function compareDeprecation(base: Endpoint, head: Endpoint): readonly Difference[] {
  return [
    ...compareDates(base.deprecationDate, head.deprecationDate),
    ...compareSuccessors(base.successor, head.successor),
  ];
}

function compareDates(before: string | null, after: string | null): readonly Difference[] {
  if (before === after) return [];
  if (before === null) return after === null ? [] : [{ kind: "endpoint-deprecated", after }];
  if (after === null) return [{ kind: "deprecation-lifted", before }];
  return [{ kind: after < before ? "sunset-brought-forward" : "sunset-put-off", before, after }];
}

function compareSuccessors(before: string | null, after: string | null): readonly Difference[] {
  if (before === after) return [];
  return [
    { kind: "successor-changed", ...(before !== null && { before }), ...(after !== null && { after }) },
  ];
}
