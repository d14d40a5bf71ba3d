import { type Changelog, changeText, type ConsumerChange } from "../../core/model/changelog.js";
import { allows } from "../../core/model/tier.js";
import type { CatalogueBody } from "../catalogue-body.js";
import { BASE } from "./api.js";
import { type Child, el } from "./dom.js";

/** What opens an endpoint; null for one that is gone. */
type Opener = (path: string) => (() => void) | null;

/** Changes that are listed; the feed has all of them. */
const MAX_LISTED = 50;

/** The changes of the endpoints that the caller may call, and of those that are gone where its tier allowed them. */
export function ownChanges({ entries }: Changelog, { endpoints, tier }: CatalogueBody): Changelog {
  const callable = new Map(endpoints.map((endpoint) => [endpoint.path, endpoint.callable]));
  const isSeen = (change: ConsumerChange): boolean =>
    callable.get(change.endpoint) ?? allows(tier, change.tier);
  return withChanges({ entries }, isSeen);
}

/** The changes of one endpoint. */
export function changesOf(changelog: Changelog, path: string): Changelog {
  return withChanges(changelog, ({ endpoint }) => endpoint === path);
}

function withChanges({ entries }: Changelog, isKept: (change: ConsumerChange) => boolean): Changelog {
  const kept = entries.map(({ date, changes }) => ({ date, changes: changes.filter(isKept) }));
  return { entries: kept.filter(({ changes }) => changes.length > 0) };
}

/** What changed, by day, newest first. Nothing without a change. Without `openerOf` paths are not repeated. */
export function changesSection({ entries }: Changelog, openerOf: Opener | null): Child {
  if (entries.length === 0) return null;
  let room = MAX_LISTED;
  const days = entries.flatMap(({ date, changes }) => {
    const listed = changes.slice(0, room);
    room -= listed.length;
    return listed.length === 0 ? [] : [day(date, listed, openerOf)];
  });
  const total = entries.reduce((sum, { changes }) => sum + changes.length, 0);
  const feed = el("a", { href: `${BASE}/v1/system/changelog.atom` }, "feed");
  return el(
    "section.changes",
    { "aria-label": "Changes" },
    el("h3", "Changes"),
    ...days,
    total > MAX_LISTED
      ? el(
          "p.note",
          `The latest ${String(MAX_LISTED)} of ${total.toLocaleString("en")}. All of them: `,
          feed,
          ".",
        )
      : el("p.note", "Follow them in a reader: ", feed, "."),
  );
}

function day(date: string, changes: readonly ConsumerChange[], openerOf: Opener | null): HTMLElement {
  const lines = changes.map((change) => {
    const { endpoint, severity } = change;
    const open = openerOf?.(endpoint) ?? null;
    const path =
      open === null ? el("code", endpoint) : el("button", { type: "button", click: open }, endpoint);
    const named = openerOf === null ? [] : [path, ": "];
    return el("li", el(`span.badge.${severity}`, severity), " ", ...named, changeText(change));
  });
  return el("div.day", el("h4", el("time", { datetime: date }, date)), el("ul", ...lines));
}
