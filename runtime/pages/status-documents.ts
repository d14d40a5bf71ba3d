import { type Changelog, type FeedItem, feedOf } from "../core/model/changelog.js";
import { DAY_STATES, type DaysByPath, HISTORY_DAYS } from "../core/model/endpoint-days.js";
import type { CatalogueEndpoint } from "./catalogue-body.js";
import { isTrouble, statesOf } from "./endpoint-states.js";
import { historyOf, type StatusBody } from "./status-history.js";

/** What a status is made of. */
interface StatusSource {
  /** What addresses begin with; null: they are relative to the document. */
  readonly base: string | null;
  readonly title: string;
  readonly changelog: Changelog;
  /** The day on which the server started. */
  readonly since: string;
  /** Those that the caller sees. */
  readonly endpoints: readonly CatalogueEndpoint[];
  /** Null while they cannot be read; undefined where none are kept. */
  readonly days: DaysByPath | null | undefined;
  readonly now: number;
}

const DAY_MS = 86_400_000;
const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 10);

const NOT_KEPT =
  "There is no history: it is kept in PostgreSQL, beside usage (DATABASE_URL or KEYS_DATABASE_URL, and USAGE_ENABLED).";
const NOT_READ = "The history cannot be read now.";

export function statusBody({ endpoints, days, now }: StatusSource): StatusBody {
  const range = { from: dayOf(now - (HISTORY_DAYS - 1) * DAY_MS), to: dayOf(now) };
  return {
    history: days == null ? null : range,
    detail: days === undefined ? NOT_KEPT : days === null ? NOT_READ : null,
    endpoints: endpoints.map((endpoint) => ({
      path: endpoint.path,
      states: statesOf(endpoint, now),
      history: days == null || !endpoint.callable ? null : historyOf(days.get(endpoint.path) ?? []),
    })),
  };
}

/** The endpoints that are late, failed or deprecated, then the days on which they were. */
export function statusFeed(source: StatusSource): string {
  const { base, title, since } = source;
  const id = base ? `${base}/v1/system/status` : "urn:routewright:status";
  const items = [...currentItems(source, id), ...pastItems(source, id)];
  const updated = items.map((item) => item.updated).sort();
  const at = base
    ? { self: `${base}/v1/system/status.atom`, explorer: `${base}/status` }
    : { self: "status.atom", explorer: "../../status" };
  const head = { id, title: `${title}: status`, author: title, updated: updated.at(-1) ?? startOf(since) };
  return feedOf(head, at, items);
}

const startOf = (day: string): string => `${day}T00:00:00Z`;

function currentItems({ endpoints, changelog, since, now }: StatusSource, id: string): readonly FeedItem[] {
  // What is yet to come is news since the changelog named its time; without one, since the server started.
  const announced = (path: string, at: string | null): string => {
    const entry = changelog.entries.find(({ changes }) =>
      changes.some((each) => each.endpoint === path && each.after === at),
    );
    return startOf(at === null || entry === undefined ? since : entry.date);
  };
  return endpoints.flatMap((endpoint) =>
    statesOf(endpoint, now)
      .filter(isTrouble)
      .map(({ name, text, at }) => ({
        id: `${id}#${endpoint.path},${name.replace(" ", "-")},${at ?? ""}`,
        title: `${endpoint.path}: ${name}`,
        updated:
          at !== null && Date.parse(at) <= now ? new Date(at).toISOString() : announced(endpoint.path, at),
        text: at === null ? text : `${text}, ${at}`,
      })),
  );
}

/** Of a feed, the newest first. */
const MOST_PAST = 100;

/** Days that have ended: a day's states only grow. */
function pastItems({ endpoints, days, now }: StatusSource, id: string): readonly FeedItem[] {
  const today = dayOf(now);
  const items = endpoints
    .filter(({ callable }) => callable)
    .flatMap(({ path }) =>
      (days?.get(path) ?? [])
        .filter(({ day, late, failed }) => day < today && (late || failed))
        .map((each) => {
          const states = DAY_STATES.filter((state) => state !== "fresh" && each[state]).join(" and ");
          return {
            id: `${id}#${path},${each.day}`,
            title: `${path}: ${states} on ${each.day}`,
            updated: startOf(dayOf(Date.parse(each.day) + DAY_MS)),
            text: `${states} on ${each.day}`,
          };
        }),
    );
  return items
    .sort((a, b) => (a.updated < b.updated ? 1 : a.updated > b.updated ? -1 : 0))
    .slice(0, MOST_PAST);
}
