import { join } from "node:path";
import { expect, it } from "vitest";
import { copyToClickhouse } from "../../scripts/demo/clickhouse.js";
import { buildDemoRelations } from "../../scripts/demo/relations.js";
import { atEnd } from "../support/at-end.js";
import { hasClickhouse } from "../support/clickhouse.js";
import { databaseUrl } from "../support/database.js";
import { KEYS, ownFolder, startFolder } from "../support/service.js";

const STARTER = join(import.meta.dirname, "../../templates/starter");
const PATHS = [
  "/v1/bridges/volume/last_7d",
  "/v1/bridges/netflow/last_7d",
  "/v1/bridges/chains_count/latest",
];

it.skipIf(!hasClickhouse)(
  "`npm start -- --engine clickhouse` serves the rows that PostgreSQL has",
  async () => {
    const { results } = await buildDemoRelations(databaseUrl, STARTER);
    const copy = await copyToClickhouse(databaseUrl, STARTER, ownFolder(), results.builds);
    atEnd(() => copy.stop());
    const services = [
      await startFolder(copy.generated, { DATABASE_URL: copy.url }),
      await startFolder(join(STARTER, "../../generated"), { DATABASE_URL: databaseUrl }),
    ];
    for (const path of PATHS) {
      const [copied, own] = await Promise.all(
        services.map(async ({ url }) => {
          const response = await fetch(url + path, { headers: { "X-API-Key": KEYS.tier3 } });
          const rows = (await response.json()) as readonly object[];
          return rows.map((row) => JSON.stringify(row)).sort();
        }),
      );
      expect(copied).not.toEqual([]);
      expect(copied).toEqual(own);
    }
  },
);
