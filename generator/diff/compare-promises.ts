import { type Endpoint, freshnessText } from "@routewright/runtime/model";
import type { CatalogueEntry } from "../catalogue/catalogue.js";
import type { Difference } from "./change.js";

/** What an endpoint promises of its rows and of itself. */
export function comparePromises(base: CatalogueEntry, head: CatalogueEntry): readonly Difference[] {
  return [
    ...compareStability(base, head),
    ...compareFreshness(base, head),
    ...compareRequireFresh(base, head),
    ...compareFailedTests(base, head),
    ...compareEnforced(base, head),
    ...comparePublicAges(base, head),
  ];
}

function compareStability(base: CatalogueEntry, head: CatalogueEntry): readonly Difference[] {
  const [before, after] = [base.stability ?? "stable", head.stability ?? "stable"];
  if (before === after) return [];
  return [{ kind: after === "preview" ? "stability-lowered" : "stability-raised", before, after }];
}

/** A promise is looser where a bound is gone, longer or at another time of day that is not earlier in the same zone. */
function compareFreshness(
  { freshness: base }: Endpoint,
  { freshness: head }: Endpoint,
): readonly Difference[] {
  const [before, after] = [base, head].map((each) => each && freshnessText(each));
  if (before === after) return [];
  const isLonger = (bound: "within" | "warnAfter" | "errorAfter"): boolean =>
    (base?.[bound] ?? Infinity) < (head?.[bound] ?? Infinity);
  const isLooser =
    isLonger("within") || isLonger("warnAfter") || isLonger("errorAfter") || isLater(base?.by, head?.by);
  return [{ kind: isLooser ? "freshness-loosened" : "freshness-tightened", before, after }];
}

function compareRequireFresh(
  { requireFresh: base }: Endpoint,
  { requireFresh: head }: Endpoint,
): readonly Difference[] {
  return base === head ? [] : [{ kind: head ? "require-fresh-added" : "require-fresh-removed" }];
}

function compareFailedTests(
  { onFailedTest: base }: Endpoint,
  { onFailedTest: head }: Endpoint,
): readonly Difference[] {
  return base === head ? [] : [{ kind: head ? "failed-tests-refused" : "failed-tests-served" }];
}

/** One finding, since a contract takes its constraints with it. */
function compareEnforced(
  { enforced: base = [] }: CatalogueEntry,
  { enforced: head = [] }: CatalogueEntry,
): readonly Difference[] {
  const gone = base.filter((each) => !head.includes(each));
  const added = head.filter((each) => !base.includes(each));
  return [
    ...(gone.length === 0 ? [] : [{ kind: "constraint-removed", before: gone.join(", ") } as const]),
    ...(added.length === 0 ? [] : [{ kind: "constraint-added", after: added.join(", ") } as const]),
  ];
}

/** How old the rows of shared caches can be, of an endpoint whose callers need no key in either revision. */
function comparePublicAges(base: Endpoint, head: Endpoint): readonly Difference[] {
  const [before, after] = [base, head].map(oldestCopy) as [number, number];
  if (base.tier !== head.tier || before === after) return [];
  const [was, is] = [before, after].map((seconds) => `${String(seconds)} s`);
  return [{ kind: `public-age-${after > before ? "raised" : "lowered"}`, before: was, after: is }];
}

function oldestCopy({ publicAge }: Endpoint): number {
  return publicAge === undefined ? 0 : publicAge.maxAge + publicAge.staleWhileRevalidate;
}

function isLater(base: string | undefined, head: string | undefined): boolean {
  if (base === undefined || base === head) return false;
  const [[time = "", zone], [later = "", other]] = [base.split(" "), (head ?? "").split(" ")];
  return zone !== other || later > time;
}
