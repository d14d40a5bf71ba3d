import { describe, expect, it } from "vitest";
import { clickhouseUrl, hasClickhouse } from "../support/clickhouse.js";
import { KEYS, serveManifest } from "../support/service.js";
import { inPay, payClickhouse, payDatabase } from "./pay-tables.js";
import { askedRows, isSameRow, requestsOf } from "./random-requests.js";

/** Requests; `AGGREGATE_REQUESTS=5000` for the full number. */
const REQUESTS = Number(process.env["AGGREGATE_REQUESTS"] ?? 75);

describe.skipIf(!hasClickhouse)("ClickHouse and PostgreSQL over the same rows", () => {
  it(
    `give the same answers to ${String(REQUESTS)} random requests`,
    async () => {
      const database = await payClickhouse();
      const manifest = JSON.parse(inPay("manifest.json")) as object;
      const postgres = await serveManifest(manifest, { DATABASE_URL: await payDatabase("America/New_York") });
      const text = inPay("manifest.json").replaceAll('"analytics"', JSON.stringify(database));
      const mapped = JSON.parse(text) as { readonly metadata: object };
      const built = { ...mapped, metadata: { ...mapped.metadata, adapter_type: "clickhouse" } };
      const clickhouse = await serveManifest(built, { DATABASE_URL: clickhouseUrl() });
      const differing: unknown[] = [];
      let answered = 0;
      for (const request of requestsOf(manifest, REQUESTS)) {
        const [wanted, got] = await Promise.all([
          askedRows(postgres, request, KEYS.tier3),
          askedRows(clickhouse, request, KEYS.tier3),
        ]);
        if (wanted.status === 200 && wanted.rows.length > 0) answered += 1;
        const isSame =
          wanted.status === got.status &&
          wanted.rows.length === got.rows.length &&
          wanted.rows.every((row, i) => isSameRow(row, got.rows[i] ?? {}));
        if (!isSame)
          differing.push({ request, wanted: wanted.text.slice(0, 600), got: got.text.slice(0, 600) });
      }
      expect(differing.slice(0, 3)).toEqual([]);
      expect(answered).toBeGreaterThan(REQUESTS / 2);
    },
    180_000 + 500 * REQUESTS,
  );
});
