/** What `/status` says of the last 90 days: in the database beside usage, for all servers. */
import { expect, it } from "vitest";
import type { Endpoint } from "../../../runtime/core/model/endpoint.js";
import { EndpointDays } from "../../../runtime/server/operations/endpoint-days.js";
import { atEnd } from "../../support/at-end.js";
import { ownDatabase, queryAt } from "../../support/database.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, serveManifest } from "../../support/service.js";

const DAY = 86_400_000;
const NOW = Date.now();
const dayAgo = (days: number): string => new Date(NOW - days * DAY).toISOString().slice(0, 10);

const ENDPOINTS = ["/v1/shop/orders", "/v1/shop/plain", "/v1/staff/secret"];
/** What the endpoints are now: those that are late, and those whose tests failed. */
interface Now {
  readonly late?: readonly string[];
  readonly failed?: readonly string[];
}

/** A server that looks at the endpoints when the test calls it. */
function server(databaseUrl: string) {
  let state: Now = {};
  const warnings: object[] = [];
  const specs = ENDPOINTS.map(
    (path) =>
      ({ path, ...(path !== "/v1/shop/plain" && { freshness: { within: 3600 } }) }) as unknown as Endpoint,
  );
  const days = new EndpointDays({
    databaseUrl,
    active: { current: { endpoints: new Map(specs.map((spec) => [spec.path, { spec }])) } },
    dueOf: ({ path }) => ({ due: state.late?.includes(path) ? 0 : Infinity, warnAt: Infinity }),
    qualityOf: ({ path }) =>
      state.failed?.includes(path) ? { state: "failed", failed: 1 } : { state: "passed", failed: 0 },
    log: { warn: (fields: object) => warnings.push(fields) },
    lookMs: 3_600_000,
  });
  let closing: Promise<void> | null = null;
  const close = () => (closing ??= days.close());
  atEnd(close);
  const look = (daysAgo: number, now: Now = {}): Promise<void> => {
    state = now;
    return days.record(NOW - daysAgo * DAY);
  };
  return { look, days, warnings, close };
}

const manifest = manifestOf([
  { name: "orders", columns: { id: "int" }, routewright: { fresh_within: "1h" } },
  { name: "plain", columns: { id: "int" } },
  {
    ...{ name: "secret", columns: { id: "int" }, tags: ["production", "staff", "tier2", "api:secret"] },
    routewright: { fresh_within: "1h" },
  },
]);

interface Status {
  readonly history: { readonly from: string; readonly to: string } | null;
  readonly detail: string | null;
  readonly endpoints: readonly {
    readonly path: string;
    readonly states: unknown;
    readonly history: unknown;
  }[];
}
async function statusOf(url: string, key?: string): Promise<Status> {
  const { status, text, headers } = await sendRequest(
    url,
    "/v1/system/status",
    key === undefined ? {} : { key },
  );
  expect(status, text).toBe(200);
  expect(headers["vary"]).toContain("X-API-Key");
  return JSON.parse(text) as Status;
}

it("keeps what each endpoint was on each day, of all servers, for 90 days", async () => {
  const url = await ownDatabase();
  const [one, two] = [server(url), server(url)];
  const [orders = "", , secret = ""] = ENDPOINTS;
  await one.look(95);
  await Promise.all([one.look(3), two.look(3)]);
  await Promise.all([one.look(2, { late: [orders] }), two.look(2, { failed: [orders, secret] })]);
  await one.look(2);
  await one.look(1);
  await one.look(0, { late: [secret] });
  const days = await one.days.history();
  expect([...(days ?? []).keys()].sort()).toEqual([orders, secret]);
  const is = (day: number, fresh: boolean, late: boolean, failed: boolean) => ({
    ...{ path: orders, day: dayAgo(day), fresh, late, failed },
  });
  expect(days?.get(orders)).toEqual([
    is(0, true, false, false),
    is(1, true, false, false),
    is(2, true, true, true),
    is(3, true, false, false),
  ]);
  const kept = await queryAt(url, "SELECT min(day)::text AS first FROM routewright.endpoint_days");
  expect(kept).toEqual([{ first: dayAgo(3) }]);
  await Promise.all([one.close(), two.close()]);

  const served = await serveManifest(manifest, {
    DATABASE_URL: url,
    USAGE_ENABLED: "true",
    CATALOGUE: "allowed",
  });
  const open = await statusOf(served);
  expect(open.history).toEqual({ from: dayAgo(89), to: dayAgo(0) });
  expect(open.detail).toBeNull();
  expect(open.endpoints.map(({ path }) => path)).toEqual([orders, "/v1/shop/plain"]);
  expect(open.endpoints[0]?.history).toEqual({
    fresh: [0, 1, 2, 3].map(dayAgo),
    late: [dayAgo(2)],
    failed: [dayAgo(2)],
  });
  expect(open.endpoints[1]?.history).toEqual({ fresh: [], late: [], failed: [] });
  const all = await statusOf(served, KEYS.tier2);
  expect(all.endpoints.find(({ path }) => path === secret)?.history).toEqual({
    fresh: [1, 2, 3].map(dayAgo),
    late: [dayAgo(0)],
    failed: [dayAgo(2)],
  });
  const feed = async (key?: string) =>
    (await sendRequest(served, "/v1/system/status.atom", key === undefined ? {} : { key })).text;
  expect(await feed()).toContain(`<title>${orders}: late and failed on ${dayAgo(2)}</title>`);
  expect(await feed()).not.toContain("secret");
  // Today has not ended.
  expect(await feed(KEYS.tier2)).not.toContain(`on ${dayAgo(0)}`);
});

it("names an endpoint that the caller may see but not call without its history", async () => {
  const url = await ownDatabase();
  const one = server(url);
  await one.look(1, { late: [...ENDPOINTS] });
  await one.close();
  const served = await serveManifest(manifest, { DATABASE_URL: url, USAGE_ENABLED: "true" });
  const { endpoints } = await statusOf(served);
  expect(endpoints.find(({ path }) => path === "/v1/staff/secret")?.history).toBeNull();
  expect((await sendRequest(served, "/v1/system/status.atom")).text).not.toContain("secret: late");
});

it("says that there is no history without a database, and that it cannot be read while that is away", async () => {
  const without = await statusOf(await serveManifest(manifest));
  expect(without).toMatchObject({ history: null, detail: expect.stringContaining("There is no history") });
  expect(without.endpoints).toHaveLength(3);
  const away = server("postgres://nobody@127.0.0.1:9/none");
  await away.look(0);
  await away.look(0);
  expect(away.warnings).toHaveLength(1);
  expect(await away.days.history()).toBeNull();
});
