import { type Caller, mayCall } from "./caller.js";
import {
  described,
  listOf,
  oneOf,
  openRecord,
  text,
  textOrNull,
  type Schema,
  type ValueOf,
} from "./schema.js";
import { type Tier, TIERS } from "./tier.js";

const CHANGE = {
  endpoint: text,
  /** Of the endpoint before the change, or of a new one. */
  tier: oneOf(TIERS),
  kind: text,
  title: text,
  severity: oneOf(["breaking", "warning", "compatible"]),
  subject: textOrNull,
  before: textOrNull,
  after: textOrNull,
};

const DAY: Schema<string> = { type: "string", format: "date" };

/** The schema of `/v1/system/changelog`. */
export const CHANGELOG_SCHEMA = openRecord({
  entries: described(
    "What changed on a day, newest first.",
    listOf(openRecord({ date: DAY, changes: described("By severity.", listOf(openRecord(CHANGE))) })),
  ),
});

/** What changed for consumers: `changelog.json` of a generated folder. */
export type Changelog = ValueOf<typeof CHANGELOG_SCHEMA>;
export type ChangelogEntry = Changelog["entries"][number];
export type ConsumerChange = ChangelogEntry["changes"][number];

/** Name of the file in a generated folder. `generate` neither writes nor compares it. */
export const CHANGELOG_FILE = "changelog.json";

export const NO_CHANGELOG: Changelog = { entries: [] };

/** Reads the file; null for a text that is none. */
export function parseChangelog(text: string): Changelog | null {
  try {
    const { entries } = JSON.parse(text) as Partial<Changelog>;
    return Array.isArray(entries) && entries.every(isEntry) ? { entries } : null;
  } catch {
    return null;
  }
}

function isEntry(entry: unknown): entry is ChangelogEntry {
  const { date, changes } = (entry ?? {}) as Partial<ChangelogEntry>;
  return typeof date === "string" && Array.isArray(changes) && changes.every(isChange);
}

function isChange(change: unknown): change is ConsumerChange {
  const { endpoint, tier, title } = (change ?? {}) as Partial<ConsumerChange>;
  return typeof endpoint === "string" && typeof title === "string" && TIERS.some((known) => known === tier);
}

/**
 * The part about endpoints that a caller may call, by the tier that each had then and by the one that it has now (`tierOf`: null
 * where it is gone); days without such changes are left out. A change names no other path that the caller may not call.
 */
export function changelogFor(
  { entries }: Changelog,
  caller: Pick<Caller, "tier" | "allowed">,
  tierOf: (path: string) => Tier | null,
): Changelog {
  const isSeen = ({ endpoint, tier }: ConsumerChange): boolean =>
    mayCall(caller, endpoint, tier) && mayCall(caller, endpoint, tierOf(endpoint) ?? tier);
  const isKnown = (path: string): boolean => {
    const tier = tierOf(path);
    return tier !== null && mayCall(caller, path, tier);
  };
  const named = (value: string | null): string | null =>
    value?.startsWith("/v1/") !== true || isKnown(value) ? value : null;
  const shown = (each: ConsumerChange) => ({ ...each, before: named(each.before), after: named(each.after) });
  const seen = entries.map(({ date, changes }) => ({ date, changes: changes.filter(isSeen).map(shown) }));
  return { entries: seen.filter(({ changes }) => changes.length > 0) };
}

/** `Column retyped: amount: integer → text` */
export function changeText({ title, subject, before, after }: ConsumerChange): string {
  const values = [before, after].filter((value) => value !== null).join(" → ");
  return [title, subject, values].filter((part) => part !== null && part !== "").join(": ");
}

/** Names a feed whose own address is not known: an id of Atom is absolute (RFC 4287, 4.2.6). */
const NAMELESS = "urn:routewright:changelog";

/** An entry of a feed. */
export interface FeedItem {
  readonly id: string;
  readonly title: string;
  /** RFC 3339. */
  readonly updated: string;
  readonly text: string;
}

/** Where a feed and what it is about are served; absolute, or relative where the public address is not known. */
interface FeedAddresses {
  readonly self: string;
  readonly explorer: string;
}

const today = (): string => new Date().toISOString().slice(0, 10);

/** The changelog as an Atom feed (RFC 4287). `addresses`: of one that is served; `since`: the day of one without entries. */
export function atomOf(
  { entries }: Changelog,
  title: string,
  addresses: FeedAddresses | null,
  since = today(),
): string {
  const { self = "" } = addresses ?? {};
  const address = /^https?:/.test(self) ? self.replace(/\.atom$/, "") : NAMELESS;
  const items = entries.map(({ date, changes }): FeedItem => {
    const lines = changes.map((change) => `${change.severity}: ${change.endpoint}: ${changeText(change)}`);
    return {
      id: `${address}#${date}`,
      title: `${title}, ${date}`,
      updated: `${date}T00:00:00Z`,
      text: lines.join("\n"),
    };
  });
  const updated = `${entries[0]?.date ?? since}T00:00:00Z`;
  return feedOf({ id: address, title: `${title}: changes`, author: title, updated }, addresses, items);
}

/** What a feed says of itself. */
interface FeedHead {
  readonly id: string;
  readonly title: string;
  readonly author: string;
  readonly updated: string;
}

/** An Atom feed. `addresses`: of one that is served. */
export function feedOf(
  { id, title, author, updated }: FeedHead,
  addresses: FeedAddresses | null,
  items: readonly FeedItem[],
): string {
  const links =
    addresses === null
      ? []
      : [
          `  <link rel="self" type="application/atom+xml" href="${xml(addresses.self)}"/>`,
          `  <link rel="alternate" type="text/html" href="${xml(addresses.explorer)}"/>`,
        ];
  const entries = items.map((item) =>
    [
      "  <entry>",
      `    <id>${xml(item.id)}</id>`,
      `    <title>${xml(item.title)}</title>`,
      `    <updated>${xml(item.updated)}</updated>`,
      `    <content type="text">${xml(item.text)}</content>`,
      "  </entry>",
    ].join("\n"),
  );
  return [
    '<?xml version="1.0" encoding="utf-8"?>',
    '<feed xmlns="http://www.w3.org/2005/Atom">',
    `  <id>${xml(id)}</id>`,
    `  <title>${xml(title)}</title>`,
    ...links,
    `  <updated>${xml(updated)}</updated>`,
    `  <author><name>${xml(author)}</name></author>`,
    ...entries,
    "</feed>\n",
  ].join("\n");
}

/** XML 1.0 has no other control characters than these three. */
function xml(text: string): string {
  return text
    .replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
