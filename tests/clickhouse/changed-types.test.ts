import { describe, expect, it } from "vitest";
import { clickhouse, clickhouseUrl, hasClickhouse, ownDatabase } from "../support/clickhouse.js";
import { sendRequest, statusAndBody } from "../support/http-client.js";
import { manifestOf } from "../support/manifest.js";
import { KEYS, serveManifest } from "../support/service.js";

const OPERATORS = ["eq", "ne", "gte"];

interface Change {
  readonly before: string;
  readonly after: string;
  /** SQL of the values before, and of those that are added after. */
  readonly values: readonly [before: string, after: string];
  /** A value that the type before does not have. */
  readonly asked: string;
}

const CHANGES: Readonly<Record<string, Change>> = {
  label: {
    before: "Enum8('a' = 1, 'b' = 2)",
    after: "Enum8('a' = 1, 'b' = 2, 'z' = 3)",
    values: ["'a'", "'z'"],
    asked: "z",
  },
  integer: { before: "UInt8", after: "UInt32", values: ["44", "300"], asked: "300" },
  sign: { before: "UInt16", after: "Int32", values: ["4", "-7"], asked: "-7" },
  float: { before: "Int32", after: "Float64", values: ["4", "nan"], asked: "0.5" },
  text: { before: "UInt8", after: "String", values: ["4", "'four'"], asked: "four" },
  day: { before: "Date", after: "Date32", values: ["'2024-01-02'", "'1920-01-02'"], asked: "1920-01-02" },
  time: {
    before: "DateTime64(0, 'UTC')",
    after: "DateTime64(3, 'UTC')",
    values: ["'2024-01-02 00:00:00'", "'2024-01-02 00:00:00.250'"],
    asked: "2024-01-02T00:00:00.25Z",
  },
  scale: { before: "Decimal(9, 2)", after: "Decimal(18, 4)", values: ["1.5", "1.2345"], asked: "1.2345" },
  null: { before: "Int32", after: "Nullable(Int32)", values: ["4", "NULL"], asked: "4" },
  wide: {
    before: "Int32",
    after: "Int256",
    values: ["4", "toInt256('123456789012345678901234567890')"],
    asked: "123456789012345678901234567890",
  },
};

const names = Object.keys(CHANGES);
const database = await ownDatabase(
  Object.entries(CHANGES).flatMap(([name, { before, values }]) => [
    `CREATE TABLE @.${name} (id UInt8, v ${before}) ENGINE = MergeTree ORDER BY id`,
    `INSERT INTO @.${name} VALUES (1, ${values[0]})`,
  ]),
);
const manifest = manifestOf(
  Object.entries(CHANGES).map(([name, { after }]) => ({
    name,
    schema: database,
    tags: ["production", "changed", `api:${name}`],
    columns: { id: "UInt8", v: after },
    api: {
      allow_unfiltered: true,
      sort: [
        { column: "v", direction: "DESC" },
        { column: "id", direction: "ASC" },
      ],
    },
    routewright: { filters: ["v"], fields: true },
  })),
  { adapter_type: "clickhouse" },
);

/** Served, and as a filter alone. */
function targetsOf(name: string): readonly string[] {
  const { asked } = CHANGES[name] as Change;
  const filters = OPERATORS.map((operator) => `v[${operator}]=${encodeURIComponent(asked)}`);
  return ["", ...filters.map((filter) => `fields=id&${filter}`)].map((parameters) => `${name}?${parameters}`);
}

async function replies(url: string, name: string, prepare: () => Promise<void>): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  for (const target of targetsOf(name)) {
    await prepare();
    const reply = await sendRequest(url, `/v1/changed/${target}`, { key: KEYS.tier3 });
    found.push([target, ...statusAndBody(reply)]);
  }
  return found;
}

async function build(name: string): Promise<void> {
  const { before, values } = CHANGES[name] as Change;
  await clickhouse(
    `CREATE OR REPLACE TABLE ${database}.${name} (id UInt8, v ${before}) ENGINE = MergeTree ORDER BY id`,
  );
  await clickhouse(`INSERT INTO ${database}.${name} VALUES (1, ${values[0]})`);
}

async function change(name: string): Promise<void> {
  const { after, values } = CHANGES[name] as Change;
  await clickhouse(`ALTER TABLE ${database}.${name} MODIFY COLUMN v ${after} SETTINGS mutations_sync = 2`);
  await clickhouse(`INSERT INTO ${database}.${name} VALUES (2, ${values[1]})`);
}

describe.skipIf(!hasClickhouse)("a column whose type changes between two requests", () => {
  it("gives what a server gives that starts then, served or not", { timeout: 600_000 }, async () => {
    const serve = () => serveManifest(manifest, { DATABASE_URL: clickhouseUrl() });
    for (const name of names) await change(name);
    const fresh = await serve();
    const wanted = new Map<string, unknown>();
    for (const name of names) wanted.set(name, await replies(fresh, name, () => Promise.resolve()));
    const known = await serve();
    for (const name of names) {
      const found = await replies(known, name, async () => {
        await build(name);
        expect((await sendRequest(known, `/v1/changed/${name}`, { key: KEYS.tier3 })).status).toBe(200);
        await change(name);
      });
      expect(found).toEqual(wanted.get(name));
    }
  });
});
