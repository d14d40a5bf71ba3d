import { expect, it } from "vitest";
import { Random } from "../ramp/simulation/random.js";
import { clickhouse, clickhouseUrl, hasClickhouse, ownDatabase } from "../support/clickhouse.js";
import { sendRequest } from "../support/http-client.js";
import { manifestOf } from "../support/manifest.js";
import { KEYS, serveManifest, startManifest } from "../support/service.js";

/** Changes, each with a request; `COLUMN_CHANGES=10000` for the full number. */
const CHANGES = Number(process.env["COLUMN_CHANGES"] ?? 40);
/** Answers that a server compares which has just started. */
const FRESH = Math.min(200, Math.ceil(CHANGES / 10));
const SEED = Number(process.env["COLUMN_CHANGES_SEED"] ?? 7);
const ROWS = 30;
const LANES = ["lane_0", "lane_1", "lane_2", "lane_3"];

const database = await ownDatabase([]);

const SIGNS = { eq: "=", ne: "!=", gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;
type Operator = keyof typeof SIGNS;

const labels = (count: number, first = 1): string =>
  Array.from({ length: count }, (_, i) => `'x${String(i + 1)}' = ${String(i + first)}`).join(", ");
const dayAfter = (n: number, hour = 0): string => new Date(Date.UTC(2026, 0, 1 + n, hour)).toISOString();

interface Family {
  readonly types: readonly string[];
  /** SQL of a row's value, by its `id`. */
  readonly value: string;
  /** What a filter compares with, and the SQL of both sides. */
  readonly given: (n: number) => string;
  readonly compared: (value: string) => readonly [column: string, value: string];
  readonly operators?: readonly Operator[];
}

/** Types whose values are written alike. */
const FAMILIES: Readonly<Record<string, Family>> = {
  integer: {
    types: ["UInt8", "Int16", "UInt32", "Int64", "UInt64", "Int256", "Nullable(Int32)"],
    value: "id",
    given: String,
    compared: (value) => ["v", value],
  },
  decimal: {
    types: [
      "Decimal(9, 2)",
      "Decimal(18, 4)",
      "Decimal(38, 6)",
      "Nullable(Decimal(12, 2))",
      "Float64",
      "Float32",
    ],
    value: "id + 0.25",
    given: (n) => `${String(n)}.25`,
    compared: (value) => ["toFloat64(v)", value],
  },
  text: {
    types: [
      "String",
      "FixedString(3)",
      "FixedString(5)",
      "LowCardinality(String)",
      "Nullable(String)",
      "LowCardinality(Nullable(String))",
    ],
    value: "concat('x', toString(id))",
    given: (n) => `x${String(n)}`,
    compared: (value) => ["toString(v)", `'${value}'`],
  },
  label: {
    types: [
      `Enum8(${labels(50)})`,
      `Enum8(${labels(60)})`,
      `Enum16(${labels(60)})`,
      `Enum8(${labels(55, 5)})`,
      `Nullable(Enum8(${labels(50)}))`,
      "LowCardinality(String)",
    ],
    value: "concat('x', toString(id))",
    given: (n) => `x${String(2 * n)}`,
    compared: (value) => ["toString(v)", `'${value}'`],
    operators: ["eq", "ne"],
  },
  day: {
    types: ["Date", "Date32", "Nullable(Date)", "Nullable(Date32)"],
    value: "toDate('2026-01-01') + id",
    given: (n) => dayAfter(n).slice(0, 10),
    compared: (value) => ["toDate32(v)", `toDate32('${value}')`],
  },
  time: {
    types: [
      "DateTime('UTC')",
      "DateTime64(0, 'UTC')",
      "DateTime64(3, 'UTC')",
      "DateTime64(6, 'UTC')",
      "DateTime64(9, 'UTC')",
      "Nullable(DateTime64(3, 'UTC'))",
      "DateTime64(3, 'Europe/Berlin')",
    ],
    value: "toDateTime('2026-01-01 12:00:00', 'UTC') + toIntervalDay(id)",
    given: (n) => dayAfter(n, 12),
    compared: (value) => ["toDateTime64(v, 9, 'UTC')", `parseDateTime64BestEffort('${value}', 9, 'UTC')`],
  },
};

const manifest = (name: string): unknown =>
  manifestOf(
    [
      {
        name,
        schema: database,
        columns: { id: "Int32", v: "String" },
        key: "id",
        api: {
          allow_unfiltered: true,
          pagination: { enabled: true, default_limit: 100, max_limit: 100 },
          sort: [{ column: "id", direction: "ASC" }],
        },
        routewright: {
          cursor: true,
          fields: true,
          filters: ["id", "v"],
          aggregate: { group_by: ["v"], measures: { n: { agg: "count" } } },
        },
      },
    ],
    { adapter_type: "clickhouse" },
  );

type Kind = (typeof KINDS)[number];
/** Ways in which another type comes to a column, and one in which only rows do. */
const KINDS = [
  "exchange",
  "rename",
  "replace",
  "recreate",
  "view",
  "modify",
  "add",
  "base",
  "insert",
] as const;

/** A table or view that changes at random, and what its requests must answer. */
class ChangingTable {
  readonly #random: Random;
  readonly #path: string;
  #family = "integer";
  #before = "integer";
  /** The table under the view, while it is one. */
  #base: string | null = null;
  #made = 0;
  #rows = ROWS;

  constructor(name: string, seed: number) {
    this.#random = new Random(seed);
    this.#path = `${database}.${name}`;
  }

  #create(path: string, family: string, type: string): string {
    const { value } = FAMILIES[family] as Family;
    return `TABLE ${path} ORDER BY id AS SELECT toInt32(number + 1) AS id, CAST(${value}, '${type.replaceAll("'", "\\'")}') AS v FROM numbers(${String(this.#rows)})`;
  }

  async create(): Promise<void> {
    await clickhouse(`CREATE ${this.#create(this.#path, "integer", "UInt8")}`);
  }

  /** Half of the changes stay in the family, whose statements then mean the same. */
  async change(): Promise<string> {
    const kind = this.#random.pick(KINDS);
    const staysInFamily = kind === "modify" || kind === "base" || this.#random.next() < 0.5;
    this.#before = this.#family;
    if (kind === "insert") return this.#insert();
    if (!staysInFamily) this.#family = this.#random.pick(Object.keys(FAMILIES));
    const type = this.#random.pick((FAMILIES[this.#family] as Family).types);
    const isDone = await this.#alter(kind, type);
    if (!isDone) await this.#replace(kind, type);
    return `${kind} ${type}`;
  }

  async #insert(): Promise<string> {
    const into = this.#base ?? this.#path;
    const id = String(++this.#rows);
    await clickhouse(`INSERT INTO ${into} SELECT ${id}, v FROM ${into} WHERE id = 1 LIMIT 1`);
    return "insert";
  }

  /** Whether ClickHouse has changed the column where it is: it refuses to convert some values. */
  async #alter(kind: Kind, type: string): Promise<boolean> {
    const table = kind === "base" ? this.#base : this.#base === null ? this.#path : null;
    if (table === null) return false;
    const alter = (change: string): Promise<string> =>
      clickhouse(`ALTER TABLE ${table} ${change} SETTINGS mutations_sync = 2, alter_sync = 2`);
    if (kind === "modify" || kind === "base")
      return alter(`MODIFY COLUMN v ${type}`).then(
        () => true,
        () => false,
      );
    if (kind !== "add") return false;
    const { value } = FAMILIES[this.#family] as Family;
    await alter(`ADD COLUMN w ${type}`);
    await alter(`UPDATE w = CAST(${value}, '${type.replaceAll("'", "\\'")}') WHERE true`);
    await alter("DROP COLUMN v");
    await alter("RENAME COLUMN w TO v");
    return true;
  }

  async #replace(kind: Kind, type: string): Promise<unknown> {
    this.#rows = ROWS;
    const next = `${this.#path}_${String(++this.#made)}`;
    const create = this.#create(next, this.#family, type);
    const wasView = this.#base !== null;
    this.#base = kind === "view" ? next : null;
    if (kind === "view") {
      await clickhouse(`CREATE ${create}`);
      const select = `AS SELECT * FROM ${next}`;
      if (wasView) return clickhouse(`CREATE OR REPLACE VIEW ${this.#path} ${select}`);
      await clickhouse(`CREATE VIEW ${next}_view ${select}`);
      return this.#exchange(`${next}_view`);
    }
    if (kind === "replace" && !wasView)
      return clickhouse(`CREATE OR REPLACE ${this.#create(this.#path, this.#family, type)}`);
    if (kind === "recreate") {
      await clickhouse(`DROP TABLE ${this.#path} SYNC`);
      return clickhouse(`CREATE ${this.#create(this.#path, this.#family, type)}`);
    }
    await clickhouse(`CREATE ${create}`);
    if (kind !== "rename") return this.#exchange(next);
    await clickhouse(`RENAME TABLE ${this.#path} TO ${next}_old, ${next} TO ${this.#path}`);
    return clickhouse(`DROP TABLE ${next}_old SYNC`);
  }

  async #exchange(next: string): Promise<void> {
    await clickhouse(`EXCHANGE TABLES ${this.#path} AND ${next}`);
    await clickhouse(`DROP TABLE ${next} SYNC`);
  }

  /** A request, and the SQL of its ids; null where the value may not be one of the type. */
  request(name: string): { readonly target: string; readonly sql: string | null } {
    const isOfType = this.#random.next() < 0.8 || this.#before === this.#family;
    const family = FAMILIES[isOfType ? this.#family : this.#before] as Family;
    const operator = this.#random.pick(family.operators ?? (Object.keys(SIGNS) as Operator[]));
    const given = family.given(1 + Math.floor(this.#random.next() * ROWS));
    const form = this.#random.pick(["?fields=id&", "?", ".ndjson?fields=id&", "?measures=n&"]);
    const [column, value] = family.compared(given);
    return {
      target: `/v1/shop/${name}${form}v[${operator}]=${encodeURIComponent(given)}`,
      sql: isOfType
        ? `SELECT id FROM ${this.#path} WHERE ${column} ${SIGNS[operator]} ${value} ORDER BY id`
        : null,
    };
  }
}

const VARIABLES = { RATE_LIMITS: "tier3=100000000", DATABASE_URL: clickhouseUrl() };
const ask = (url: string, target: string) => sendRequest(url, target, { key: KEYS.tier3 });

/** The ids of an answer, or how many it counts. */
function foundIn(target: string, text: string): readonly number[] | number {
  if (target.includes("measures")) return Number(/"n":(\d+)/.exec(text)?.[1] ?? 0);
  return [...text.matchAll(/"id":(\d+)/g)].map(([, id]) => Number(id));
}

/** ClickHouse's own answer; null where it has none: a view keeps `FixedString(3)` when its table has longer texts. */
async function answerOf(sql: string, target: string): Promise<readonly number[] | number | null> {
  const text = await clickhouse(sql).catch((error: unknown) => {
    if (/TOO_LARGE_STRING_SIZE/.test(String(error))) return null;
    throw error;
  });
  if (text === null) return null;
  const ids = text.split("\n").filter(Boolean).map(Number);
  return target.includes("measures") ? ids.length : ids;
}

/** Changes a table and asks for it, and tells what differs from ClickHouse's own answer, or from that of a server that has just started. */
async function drive(name: string, seed: number, differing: unknown[]): Promise<number> {
  const table = new ChangingTable(name, seed);
  await table.create();
  const url = await serveManifest(manifest(name), VARIABLES);
  const between = Math.ceil(CHANGES / FRESH);
  let compared = 0;
  for (let step = 0; step < CHANGES / LANES.length; step++) {
    const changed = await table.change();
    const { target, sql } = table.request(name);
    const { status, text } = await ask(url, target);
    const where = { name, step, changed, target, status, text: text.slice(0, 300) };
    if (sql === null) {
      if (status !== 200 && status !== 400) differing.push(where);
    } else {
      const wanted = await answerOf(sql, target);
      const found = status === 200 ? foundIn(target, text) : null;
      if (JSON.stringify(found) !== JSON.stringify(wanted)) differing.push({ ...where, wanted });
    }
    if (step % between === 0) {
      compared++;
      const fresh = await startManifest(manifest(name), VARIABLES);
      const answer = await ask(fresh.url, target).finally(() => fresh.stop());
      if (answer.status !== status || answer.text !== text)
        differing.push({ ...where, fresh: [answer.status, answer.text.slice(0, 300)] });
    }
  }
  return compared;
}

it.skipIf(!hasClickhouse)(
  `answers ${String(CHANGES)} requests after random changes as ClickHouse does, and as a server that has just started`,
  { timeout: 600_000 + 1000 * CHANGES },
  async () => {
    const differing: unknown[] = [];
    const compared = await Promise.all(LANES.map((name, i) => drive(name, SEED + i, differing)));
    const sum = compared.reduce((a, b) => a + b, 0);
    console.info(
      `${String(CHANGES)} requests after random changes, ${String(sum)} compared with a server that has just started: ${String(differing.length)} differ`,
    );
    expect(differing.slice(0, 5)).toEqual([]);
  },
);
