import type { Endpoint, FormerPath } from "@routewright/runtime/model";
import type { Difference } from "./change.js";
import type { ServedEntry } from "./served-entries.js";

/** Decides whether a removal or a sunset date leaves consumers enough time. */
export interface SunsetPolicy {
  /** `YYYY-MM-DD`. */
  readonly today: string;
  /** Days that consumers must have from today until a sunset. */
  readonly minimumNoticeDays: number;
}

const DAY_MS = 86_400_000;

/** Full days from the beginning of today until a time. */
function daysUntil(time: string, today: string): number {
  return Math.floor((Date.parse(time) - Date.parse(`${today}T00:00:00Z`)) / DAY_MS);
}

/** Why a notice is too short. */
function noticeText(days: number, minimum: number): string {
  const notice =
    days < 0 ? "The date has passed" : days === 1 ? "1 day from now" : `${String(days)} days from now`;
  return `${notice}; the minimum is ${String(minimum)} days.`;
}

/** When requests begin to get 410. */
export function compareEnds(
  { goneAt: before }: Endpoint,
  { goneAt: after }: Endpoint,
  { today, minimumNoticeDays }: SunsetPolicy,
): readonly Difference[] {
  if (before === after) return [];
  const dates = { before, after };
  if (after === undefined || (before !== undefined && after > before))
    return [{ kind: "gone-put-off", ...dates }];
  const days = daysUntil(after, today);
  if (days >= minimumNoticeDays) return [{ kind: "gone-announced", ...dates }];
  return [{ kind: "gone-too-soon", ...dates, details: [noticeText(days, minimumNoticeDays)] }];
}

/** Another path of its own, and the line that keeps the one before alive. */
export function compareOwnPath(base: Endpoint, head: Endpoint, policy: SunsetPolicy): readonly Difference[] {
  if (base.path === head.path) return [];
  const details = [formerPathsLine(base.path, head, policy)];
  return [{ kind: "path-moved", before: base.path, after: head.path, details }];
}

/** The sunset that responses announce, and the path that replaces this one. */
export function compareNotices(
  base: ServedEntry,
  head: ServedEntry,
  policy: SunsetPolicy,
): readonly Difference[] {
  const sunsets = compareSunsets(base, head, policy);
  if (head.isFormer !== true || sunsets.some(({ kind }) => kind === "sunset-too-soon"))
    return [...sunsets, ...compareSuccessors(base, head)];
  const { successor, deprecationDate } = head;
  if (base.isFormer !== true) {
    const until = deprecationDate === null ? "No sunset is announced." : `Sunset: ${deprecationDate}.`;
    return [{ kind: "path-moved-with-notice", before: base.path, after: successor, details: [until] }];
  }
  const isOpenEnded = deprecationDate === null && base.deprecationDate !== null;
  return [
    ...(isOpenEnded ? [{ kind: "sunset-put-off", before: base.deprecationDate } as const] : sunsets),
    ...compareSuccessors(base, head),
  ];
}

/**
 * `deprecationDate` is dbt's `deprecation_date`: the day from which the endpoint may be removed, which responses announce
 * as `Sunset`.
 */
function compareSunsets(
  { deprecationDate: before }: Endpoint,
  { deprecationDate: after }: Endpoint,
  { today, minimumNoticeDays }: SunsetPolicy,
): readonly Difference[] {
  if (before === after) return [];
  if (after === null) return before === null ? [] : [{ kind: "deprecation-lifted", before }];
  if (before !== null && after > before) return [{ kind: "sunset-put-off", before, after }];
  const dates = { before, after };
  const days = daysUntil(after, today);
  if (days >= minimumNoticeDays)
    return [{ kind: before === null ? "endpoint-deprecated" : "sunset-brought-forward", ...dates }];
  return [{ kind: "sunset-too-soon", ...dates, details: [noticeText(days, minimumNoticeDays)] }];
}

function compareSuccessors(
  { successor: before }: Endpoint,
  { successor: after }: Endpoint,
): readonly Difference[] {
  return before === after ? [] : [{ kind: "successor-changed", before, after }];
}

/** The line of a model's `meta.routewright` that keeps a path alive, until there has been enough notice. */
export function formerPathsLine(
  path: string,
  { formerPaths = [] }: Endpoint,
  { today, minimumNoticeDays }: SunsetPolicy,
): string {
  const sunset = new Date(Date.parse(today) + minimumNoticeDays * DAY_MS).toISOString();
  const items = [...formerPaths, { path, sunset }].map(itemText);
  return `To keep the old path alive, add to the model's \`meta.routewright\`: former_paths: [${items.join(", ")}]`;
}

function itemText({ path, sunset }: FormerPath): string {
  return sunset === null ? `{path: ${path}}` : `{path: ${path}, sunset: "${sunset.slice(0, 10)}"}`;
}
