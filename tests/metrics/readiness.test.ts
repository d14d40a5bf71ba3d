import { describe, expect, it } from "vitest";
import { byEngine, engineUrl, ownerQuery, ownTables } from "../support/engines.js";
import { sendRequest } from "../support/http-client.js";
import { KEYS, serveManifest } from "../support/service.js";
import { sentManifest } from "./sent-manifest.js";

const TABLES = {
  payments: byEngine({
    postgres: "(payment_id int, customer_id int, amount int, token text, paid_on date)",
    clickhouse:
      "(payment_id Int32, customer_id Int32, amount Int32, token String, paid_on Date) ENGINE = MergeTree ORDER BY payment_id",
  }),
  customers: byEngine({
    postgres: "(customer_id int, region text)",
    clickhouse: "(customer_id Int32, region String) ENGINE = MergeTree ORDER BY customer_id",
  }),
  days: byEngine({ postgres: "(day date)", clickhouse: "(day Date) ENGINE = MergeTree ORDER BY day" }),
};
type Table = keyof typeof TABLES;
const NAMES = Object.keys(TABLES) as Table[];

const create = (schema: string, table: Table): Promise<unknown> =>
  ownerQuery(`CREATE TABLE "${schema}".${table} ${TABLES[table]}`);
const drop = (schema: string, table: Table): Promise<unknown> =>
  ownerQuery(`DROP TABLE "${schema}".${table}`);

const SENT = "/v1/pay/sent?group_by=customer__region";
const RUNNING = "/v1/pay/running?group_by=metric_time__day";

async function serve(missing: readonly Table[]) {
  const schema = await ownTables({ postgres: "SELECT 1", clickhouse: [] });
  for (const table of NAMES) if (!missing.includes(table)) await create(schema, table);
  const url = await serveManifest(sentManifest(schema), { DATABASE_URL: engineUrl() });
  const health = async (): Promise<unknown> => JSON.parse((await sendRequest(url, "/health")).text);
  const ask = async (path: string) => (await sendRequest(url, path, { key: KEYS.tier3 })).status;
  const lacks = (...tables: readonly Table[]) => ({
    ...{ status: "degraded", database_connected: true },
    missing_relations: tables.map((table) => `${schema}.${table}`),
  });
  return { schema, health, ask, lacks };
}

const WELL = { status: "ok", database_connected: true };

describe("/health names a relation that metrics read", () => {
  it.each(NAMES)("%s, which the database lacks from the start", async (table) => {
    const { schema, health, ask, lacks } = await serve([table]);
    await expect.poll(health).toEqual(lacks(table));
    await create(schema, table);
    for (const path of [SENT, RUNNING]) expect(await ask(path)).toBe(200);
    await expect.poll(health).toEqual(WELL);
  });

  it.each([
    ["payments", SENT],
    ["customers", SENT],
    ["days", RUNNING],
  ] as const)("%s, which goes while it serves", async (table, path) => {
    const { schema, health, ask, lacks } = await serve([]);
    expect(await ask(path)).toBe(200);
    await drop(schema, table);
    expect(await ask(path)).toBe(500);
    await expect.poll(health).toEqual(lacks(table));
    await create(schema, table);
    expect(await ask(path)).toBe(200);
    await expect.poll(health).toEqual(WELL);
  });

  it("and no column that the project writes in another letter case, which it serves", async () => {
    const { schema, health } = await serve([]);
    const written = JSON.parse(
      JSON.stringify(sentManifest(schema))
        .replaceAll('"expr":"customer_id"', '"expr":"Customer_ID"')
        .replaceAll('"expr":"payment_id"', '"expr":"PAYMENT_ID"')
        .replace('"name":"amount","agg":"sum"', '"name":"amount","agg":"sum","expr":"Amount"'),
    ) as unknown;
    const url = await serveManifest(written, { DATABASE_URL: engineUrl() });
    for (const path of [SENT, RUNNING, `${SENT}&customer__region=EU`, "/v1/pay/sent?group_by=payment__token"])
      expect([path, (await sendRequest(url, path, { key: KEYS.tier3 })).status]).toEqual([path, 200]);
    await expect.poll(health).toEqual(WELL);
  });

  it("and a column of a joined one", async () => {
    const { schema, health, ask } = await serve(["customers"]);
    await ownerQuery(`CREATE TABLE "${schema}".customers ${TABLES.customers.replace(/region/, "area")}`);
    await ask(SENT);
    await expect.poll(health).toEqual({
      ...WELL,
      status: "degraded",
      missing_columns: ["/v1/pay/running: region", "/v1/pay/sent: region"],
    });
  });
});
