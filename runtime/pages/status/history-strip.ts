import { count, el } from "../explorer/dom.js";
import type { DayState } from "../../core/model/endpoint-days.js";
import type { EndpointHistory, StatusBody } from "../status-history.js";

const DAY_MS = 86_400_000;

/** What a day is drawn as: the worst that the endpoint was. */
type Drawn = DayState | "none";

/** The days as runs of the same state, from the first to the last. */
function runsOf(history: EndpointHistory, { from, to }: NonNullable<StatusBody["history"]>) {
  const runs: { state: Drawn; first: string; last: string; days: number }[] = [];
  const worst: readonly DayState[] = ["failed", "late", "fresh"];
  for (let time = Date.parse(from); time <= Date.parse(to); time += DAY_MS) {
    const day = new Date(time).toISOString().slice(0, 10);
    const state = worst.find((each) => history[each].includes(day)) ?? "none";
    const run = runs.at(-1);
    if (run?.state === state) Object.assign(run, { last: day, days: run.days + 1 });
    else runs.push({ state, first: day, last: day, days: 1 });
  }
  return runs;
}

/** The last 90 days of an endpoint as a strip; null where nothing is known of them. */
export function historyStrip(
  history: EndpointHistory,
  range: NonNullable<StatusBody["history"]>,
): HTMLElement | null {
  const { fresh, late, failed } = history;
  if (fresh.length + late.length + failed.length === 0) return null;
  const parts = runsOf(history, range).map(({ state, first, last, days }) => {
    const when = first === last ? first : `${first} to ${last}`;
    const part = el(`span.${state}`, { title: `${state === "none" ? "not known" : state}: ${when}` });
    part.style.flexGrow = String(days);
    return part;
  });
  const words = `Last 90 days: fresh on ${count(fresh.length, "day")}, late on ${String(late.length)}, failed on ${String(failed.length)}`;
  return el("span.history", { role: "img", "aria-label": words, title: words }, ...parts);
}
