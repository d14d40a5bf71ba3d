import { type Endpoint, TIERS } from "@routewright/runtime/model";
import type { Difference } from "./change.js";
import { compareColumns } from "./compare-columns.js";
import { compareDeprecation } from "./compare-deprecation.js";
import { compareFiltering } from "./compare-filtering.js";
import { comparePagination } from "./compare-pagination.js";
import { compareParameters } from "./compare-parameters.js";
import { compareSorting } from "./compare-sorting.js";

/** What differs between two versions of an endpoint. */
export function compareEndpoints(base: Endpoint, head: Endpoint): readonly Difference[] {
  return [
    ...comparePlace(base, head),
    ...compareTier(base, head),
    ...compareMethods(base, head),
    ...compareParameters(base, head),
    ...compareFiltering(base, head),
    ...comparePagination(base.pagination, head.pagination),
    ...compareColumns(base.columns, head.columns),
    ...compareSorting(base, head),
    ...compareDeprecation(base, head),
  ];
}

/** Where it is served, and from what. A model's relation bears its name: if both change, only the model is told. */
function comparePlace(base: Endpoint, head: Endpoint): readonly Difference[] {
  const places: Difference[] = [];
  if (base.path !== head.path) places.push({ kind: "path-moved", before: base.path, after: head.path });
  const [was, is] = [relationOf(base), relationOf(head)];
  if (base.model !== head.model) {
    const before = `${base.model} (${was})`;
    places.push({ kind: "model-changed", before, after: `${head.model} (${is})` });
  } else if (was !== is) places.push({ kind: "relation-changed", before: was, after: is });
  return places;
}

function relationOf({ relation }: Endpoint): string {
  return relation.map((name) => JSON.stringify(name)).join(".");
}

function compareTier(base: Endpoint, head: Endpoint): readonly Difference[] {
  if (base.tier === head.tier) return [];
  const isRaised = TIERS.indexOf(head.tier) > TIERS.indexOf(base.tier);
  return [{ kind: isRaised ? "tier-raised" : "tier-lowered", before: base.tier, after: head.tier }];
}

function compareMethods(base: Endpoint, head: Endpoint): readonly Difference[] {
  const removed = base.methods.filter((method) => !head.methods.includes(method));
  const added = head.methods.filter((method) => !base.methods.includes(method));
  return [
    ...removed.map((subject) => ({ kind: "method-removed", subject, before: subject }) as const),
    ...added.map((subject) => ({ kind: "method-added", subject, after: subject }) as const),
  ];
}
