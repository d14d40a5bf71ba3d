import { expect, it } from "vitest";
import { copyToClickhouse } from "../../scripts/demo/clickhouse.js";
import { atEnd } from "../support/at-end.js";
import { clickhouse, clickhouseUrl, hasClickhouse } from "../support/clickhouse.js";
import { databaseUrl } from "../support/database.js";
import { KEYS, serveManifest } from "../support/service.js";
import { manifestText, published, STARTER_DIR } from "./starter-manifest.js";

/**
 * A text for each row, whatever the order of tied rows and of the keys of JSON columns, and however many zeros a second has.
 */
function rowsOf(body: unknown): readonly string[] {
  const rows = Array.isArray(body) ? body : (body as { items: unknown[] }).items;
  return rows.map((row) => JSON.stringify(row, sortedKeys).replaceAll(/(:\d\d)\.0+Z/g, "$1Z")).toSorted();
}

function sortedKeys(_: string, value: unknown): unknown {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject
    ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
    : value;
}

it.skipIf(!hasClickhouse || databaseUrl === "")(
  "the demo on ClickHouse serves the starter's rows as PostgreSQL does",
  async () => {
    const owner = clickhouseUrl("default").replace(":secret@", ":@");
    const manifest = await copyToClickhouse(databaseUrl, owner, STARTER_DIR);
    atEnd(async () => {
      await clickhouse("DROP DATABASE routewright_demo SYNC");
    });
    const urls = [
      await serveManifest(JSON.parse(manifestText)),
      await serveManifest(manifest, { DATABASE_URL: clickhouseUrl() }),
    ];
    const whole = published.filter(({ api }) => api === undefined || api.allow_unfiltered === true);
    expect(whole.length).toBeGreaterThan(20);
    for (const { urlPath } of whole) {
      const [rows, copied] = await Promise.all(
        urls.map(async (url) => {
          const response = await fetch(url + urlPath, { headers: { "x-api-key": KEYS.tier3 } });
          expect(response.status, `${url}${urlPath}`).toBe(200);
          return rowsOf(await response.json());
        }),
      );
      expect(copied, urlPath).toEqual(rows);
    }
  },
);
