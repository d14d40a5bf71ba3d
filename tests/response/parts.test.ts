import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { byEngine, ownerQuery, ownTables } from "../support/engines.js";
import { manifestOf } from "../support/manifest.js";
import { KEYS, serveManifest } from "../support/service.js";
import { sendRequest } from "../support/http-client.js";

const key = KEYS.tier3;
const rows = (count: number, width = 10) =>
  byEngine({
    postgres: `AS SELECT i AS id, repeat('x', ${String(width)}) AS filling FROM generate_series(1, ${String(count)}) i`,
    clickhouse: `ORDER BY id AS SELECT toInt32(number + 1) AS id, repeat('x', ${String(width)}) AS filling FROM numbers(${String(count)})`,
  });
const statements = [
  `CREATE TABLE @.long ${rows(5000, 1000)}`,
  `CREATE TABLE @.huge ${rows(40_000, 1000)}`,
  `CREATE TABLE @.changing ${rows(3000, 1000)}`,
  `CREATE TABLE @.next ${rows(4000, 1000)}`,
];
const schema = await ownTables({ postgres: statements.join(";"), clickhouse: statements });
const api = {
  allow_unfiltered: true,
  methods: ["GET", "POST"],
  parameters: [{ name: "id", column: "id", operator: "=", type: "string" }],
  pagination: { enabled: true, default_limit: 2000, max_limit: 4000, response: "list" },
  sort: [{ column: "id", direction: "ASC" }],
};
const model = (name: string, more: object = {}) => ({
  name,
  schema,
  tags: ["production", "parts", `api:${name}`],
  columns: { id: null, filling: null },
  ...more,
});
const sorted = { api: { allow_unfiltered: true, sort: [{ column: "id", direction: "ASC" }] } };
await ownerQuery(`CREATE VIEW ${schema}.pages AS SELECT * FROM ${schema}.long`);
const url = await serveManifest(
  manifestOf([...["long", "huge", "changing"].map((name) => model(name, sorted)), model("pages", { api })]),
  { RATE_LIMITS: "100000" },
);
const ask = (target: string, range?: string) =>
  sendRequest(url, `/v1/parts/${target}`, { key, headers: { ...(range !== undefined && { range }) } });
const lengthOf = async (target: string): Promise<string | undefined> => {
  const { status, headers } = await sendRequest(url, `/v1/parts/${target}`, { key, method: "HEAD" });
  expect(status).toBe(200);
  return headers["content-length"];
};

describe("a result of more than 2 MiB", () => {
  it.each(["long.csv", "long.ndjson", "long.parquet", "long.arrow", "pages.csv?limit=3000", "pages.parquet"])(
    "has a length for HEAD, and its parts make the whole: %s",
    async (target) => {
      const whole = (await ask(target)).bytes;
      expect(await lengthOf(target)).toBe(String(whole.length));
      const size = Math.ceil(whole.length / 3);
      const parts = await Promise.all(
        [0, 1, 2].map((i) => ask(target, `bytes=${String(i * size)}-${String((i + 1) * size - 1)}`)),
      );
      expect(parts.map(({ status }) => status)).toEqual([206, 206, 206]);
      expect(Buffer.concat(parts.map(({ bytes }) => bytes)).equals(whole)).toBe(true);
      const last = await ask(target, "bytes=-100");
      expect([last.status, last.headers["content-range"]]).toEqual([
        206,
        `bytes ${String(whole.length - 100)}-${String(whole.length - 1)}/${String(whole.length)}`,
      ]);
      expect(last.headers["link"] !== undefined).toBe(target.startsWith("pages"));
    },
  );

  it("is streamed where it is longer than 32 MiB, or asked for as a whole", async () => {
    expect(await lengthOf("huge.ndjson")).toBeUndefined();
    const { status, bytes } = await ask("huge.ndjson", "bytes=0-99");
    expect([status, bytes.toString().split("\n").length]).toEqual([200, 40_001]);
    expect((await ask("long.csv")).headers["content-length"]).toBeUndefined();
  });

  it("is of the filters of its request", async () => {
    expect(Number(await lengthOf("pages.csv"))).toBeGreaterThan(30_000);
    expect((await ask("pages.csv?id=7", "bytes=0-999")).bytes.toString()).toMatch(/^id,filling\r\n7,/);
  });

  it("is read again once its table is replaced", async () => {
    const before = Number(await lengthOf("changing.csv"));
    await ownerQuery(
      byEngine({
        postgres: `BEGIN; DROP TABLE ${schema}.changing; ALTER TABLE ${schema}.next RENAME TO changing; COMMIT`,
        clickhouse: `EXCHANGE TABLES ${schema}.changing AND ${schema}.next`,
      }),
    );
    // The storage of a relation is looked up once a second.
    await sleep(1100);
    expect(Number(await lengthOf("changing.csv"))).toBeGreaterThan(before + 10_000);
  });
});
