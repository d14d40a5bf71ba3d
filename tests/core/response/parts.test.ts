import { describe, expect, it } from "vitest";
import { byEngine, ownerQuery, ownTables } from "../../support/engines.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, serveManifest } from "../../support/service.js";
import { sendRequest } from "../../support/http-client.js";

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
  `CREATE TABLE @.short ${rows(3)}`,
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
  manifestOf([
    ...["long", "huge", "changing", "short"].map((name) => model(name, sorted)),
    model("pages", { api }),
  ]),
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
});

/** Changes rows of a table in place. */
const change = (name: string): Promise<unknown> =>
  ownerQuery(
    byEngine({
      postgres: `UPDATE ${schema}.${name} SET filling = 'y' || filling WHERE id = 1`,
      clickhouse: `ALTER TABLE ${schema}.${name} UPDATE filling = concat('y', filling) WHERE id = 1 SETTINGS mutations_sync = 2`,
    }),
  );

describe("the parts that a caller reads", () => {
  const read = (
    name: string,
    headers: Readonly<Record<string, string>> = {},
    method = "GET",
    as: string = key,
  ) => sendRequest(url, `/v1/parts/${name}`, { key: as, method, headers });

  it.each(["changing.csv", "short.csv"])(
    "are of the rows of the first one and have its tag: %s",
    async (name) => {
      const whole = (await read(name)).bytes;
      const first = await read(name, { range: "bytes=0-9" });
      await change(name.replace(".csv", ""));
      const second = await read(name, { range: "bytes=10-" });
      expect([first.status, second.status, second.headers.etag]).toEqual([206, 206, first.headers.etag]);
      expect(Buffer.concat([first.bytes, second.bytes]).equals(whole)).toBe(true);
      // Another caller's first part is of the rows of its own time.
      const other = await read(name, { range: "bytes=0-9" }, "GET", KEYS.tier2);
      expect(other.headers["content-range"]).toBe(`bytes 0-9/${String(whole.length + 1)}`);
      expect(other.headers.etag).not.toBe(first.headers.etag);
    },
  );

  it.each(["changing.csv", "short.csv"])(
    "begin anew with HEAD; all but parts is of this moment: %s",
    async (name) => {
      const { headers: before } = await read(name, {}, "HEAD");
      await read(name, { range: "bytes=0-9" });
      await change(name.replace(".csv", ""));
      const length = Number(before["content-length"]);
      const whole = (await read(name)).bytes;
      expect(whole).toHaveLength(length + 1);
      const fresh: readonly Readonly<Record<string, string>>[] = [
        { range: "bytes=0-9", "if-range": before.etag ?? "" },
        { range: "bytes=0-1,5-6" },
      ];
      for (const headers of fresh) {
        const answer = await read(name, headers);
        expect([headers, answer.status, answer.bytes.equals(whole)]).toEqual([headers, 200, true]);
      }
      const behind = await read(name, { range: `bytes=${String(length + 1)}-` });
      expect([behind.status, behind.headers["content-range"]]).toEqual([
        416,
        `bytes */${String(length + 1)}`,
      ]);
      const asked = await read(name, { range: "bytes=0-9", "if-none-match": before.etag ?? "" });
      expect([asked.status, asked.headers["content-range"]]).toEqual([
        206,
        `bytes 0-9/${String(length + 1)}`,
      ]);
      await change(name.replace(".csv", ""));
      expect((await read(name, {}, "HEAD")).headers["content-length"]).toBe(String(length + 2));
      const part = await read(name, { range: "bytes=0-9" });
      expect(part.headers["content-range"]).toBe(`bytes 0-9/${String(length + 2)}`);
    },
  );
});
