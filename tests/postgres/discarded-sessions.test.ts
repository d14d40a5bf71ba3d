/** What a pooler between two transactions does with a session: `DISCARD ALL` drops its prepared statements and settings. */
import { expect, it } from "vitest";
import { databaseUrl, ownSchema } from "../support/database.js";
import { proxyThatSays } from "../support/database-proxy.js";
import { sendRequest } from "../support/http-client.js";
import { manifestOf } from "../support/manifest.js";
import { KEYS, serveManifest } from "../support/service.js";

const schema = await ownSchema(`
  CREATE TABLE @.sales AS SELECT i, i / 3.0::float8 AS share, i * interval '1 day 1 hour' AS span, date '2026-01-01' + i AS day
  FROM generate_series(1, 40) i`);
const manifest = manifestOf([
  {
    name: "sales",
    schema,
    columns: { i: "integer", share: "double precision", span: "interval", day: "date" },
    api: { allow_unfiltered: true },
    routewright: {
      filters: ["i", "day"],
      aggregate: { group_by: ["day"], measures: { n: { agg: "count" } } },
    },
  },
]);
const TARGETS = Array.from({ length: 6 }, (_, i) => [
  `?i[eq]=${String(i + 1)}`,
  `?day[eq]=2026-01-0${String(i + 2)}`,
  `.csv?i[in]=${String(i + 1)},7`,
  `?measures=n&group_by=day&day[eq]=2026-01-0${String(i + 2)}`,
]).flat();

it.each(["DISCARD ALL", "DEALLOCATE ALL", "RESET ALL; DISCARD PLANS"])(
  "no request notices that its session was told %s",
  async (statement) => {
    const { url: DATABASE_URL, say } = await proxyThatSays(databaseUrl);
    const url = await serveManifest(manifest, { DATABASE_URL, RATE_LIMITS: "tier3=100000" });
    const ask = () =>
      Promise.all(
        TARGETS.map(async (target) => {
          const { status, text } = await sendRequest(url, `/v1/shop/sales${target}`, { key: KEYS.tier3 });
          return [target, status, text];
        }),
      );
    const expected = await ask();
    expect(new Set(expected.map(([, status]) => status))).toEqual(new Set([200]));
    for (let round = 0; round < 5; round++) {
      // Prepared by now, on each of the connections.
      for (let i = 0; i < 3; i++) expect(await ask()).toEqual(expected);
      expect(await say(statement)).toBeGreaterThan(1);
      expect(await ask()).toEqual(expected);
    }
  },
);
