import type { CatalogueEndpoint } from "./catalogue-body.js";

/** What a consumer of an endpoint should know, worst first. */
export const STATES = [
  ...(["failed", "late", "nearly late", "deprecated"] as const),
  ...(["untested", "fresh", "tested", "no promise", "not shown"] as const),
] as const;
export type StateName = (typeof STATES)[number];

/** A state of an endpoint, in words. */
export interface EndpointState {
  readonly name: StateName;
  readonly text: string;
  /** Since when; of a deprecated one when it may go. Null: not known. */
  readonly at: string | null;
}

/** Those that need a consumer's attention; the others say that all is well, or that nothing is promised. */
export function isTrouble({ name }: EndpointState): boolean {
  return name === "failed" || name === "late" || name === "nearly late" || name === "deprecated";
}

/** All that is to say of an endpoint, worst first: at least one state. Of one that the caller may not call only whether it goes. */
export function statesOf(endpoint: CatalogueEndpoint, now: number): readonly EndpointState[] {
  const { callable, deprecation_date } = endpoint;
  const states = [
    ...(callable ? [...testStates(endpoint), ...freshnessStates(endpoint, now)] : []),
    ...(deprecation_date === null
      ? []
      : [{ name: "deprecated" as const, text: "may stop answering", at: deprecation_date }]),
  ].sort((a, b) => STATES.indexOf(a.name) - STATES.indexOf(b.name));
  if (states.length > 0) return states;
  return [
    callable
      ? { name: "no promise", text: "the team promises neither freshness nor tests", at: null }
      : { name: "not shown", text: "needs another key", at: null },
  ];
}

function testStates({ quality, tests, on_failed_test }: CatalogueEndpoint): readonly EndpointState[] {
  const { completed_at: at = null, failed = 0 } = tests ?? {};
  if (quality === "failed") {
    const refused = on_failed_test === "refuse" ? "; no rows are served" : "";
    // Of a copy of an earlier build: the results that are shown are of other rows.
    if (failed === 0) return [{ name: "failed", text: `tests of these rows failed${refused}`, at: null }];
    return [{ name: "failed", text: `${String(failed)} of its tests failed${refused}`, at }];
  }
  if (quality === "passed") return [{ name: "tested", text: "its tests passed", at }];
  return quality === "unknown" ? [{ name: "untested", text: "tests have not run on these rows", at }] : [];
}

function freshnessStates({ freshness }: CatalogueEndpoint, now: number): readonly EndpointState[] {
  if (freshness === undefined) return [];
  const { promise, due, warn_at = null } = freshness;
  const isPast = (instant: string | null): boolean => instant !== null && Date.parse(instant) < now;
  if (due === null && warn_at === null) return [{ name: "late", text: "no build is known", at: null }];
  if (isPast(due)) return [{ name: "late", text: `promised ${promise}`, at: due }];
  if (isPast(warn_at)) return [{ name: "nearly late", text: `promised ${promise}`, at: warn_at }];
  return [{ name: "fresh", text: promise, at: null }];
}
