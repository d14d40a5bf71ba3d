import { expect, it } from "vitest";
import { ownSchema, query } from "../support/database.js";
import { manifestOf } from "../support/manifest.js";
import { sendRequest } from "../support/http-client.js";
import { KEYS, serveManifest, startManifest } from "../support/service.js";

/** Changes, each with a request; `COLUMN_CHANGES=10000` for the full number. */
const SEQUENCES = Number(process.env["COLUMN_CHANGES"] ?? 40);
/** Answers that a server compares which has just started. */
const FRESH = Math.min(200, Math.ceil(SEQUENCES / 10));
const SEED = Number(process.env["COLUMN_CHANGES_SEED"] ?? 7);
const ROWS = 30;

const schema = await ownSchema("");

/** Numbers that follow from the seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Types whose values are written alike: those of a row, those that filters compare with, and how SQL compares. */
const FAMILIES = {
  integer: {
    types: ["smallint", "integer", "bigint"],
    value: "i",
    given: (n: number) => String(n),
    cast: "bigint",
  },
  decimal: {
    types: ["numeric(10,2)", "numeric(12,4)", "numeric", "numeric(38,6)"],
    value: "i + 0.25",
    given: (n: number) => `${String(n)}.25`,
    cast: "numeric",
  },
  text: {
    types: ["text", "varchar(10)", "varchar(20)", "varchar", 'text COLLATE "C"'],
    value: "'x' || i",
    given: (n: number) => `x${String(n)}`,
    cast: "text",
  },
  date: {
    types: ["date"],
    value: "date '2026-01-01' + i",
    given: (n: number) => new Date(Date.UTC(2026, 0, 1 + n)).toISOString().slice(0, 10),
    cast: "date",
  },
  time: {
    types: ["timestamptz", "timestamptz(0)", "timestamptz(3)"],
    value: "timestamptz '2026-01-01 12:00Z' + i * interval '1 day'",
    given: (n: number) => new Date(Date.UTC(2026, 0, 1 + n, 12)).toISOString(),
    cast: "timestamptz",
  },
} as const;
type Family = keyof typeof FAMILIES;

const SIGNS = { eq: "=", ne: "IS DISTINCT FROM", gt: ">", gte: ">=", lt: "<", lte: "<=" } as const;
type Operator = keyof typeof SIGNS;

const manifest = (name: string): unknown =>
  manifestOf([
    {
      name,
      schema,
      columns: { id: "integer", v: "text" },
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
  ]);

/** A relation that changes at random, and what its requests must answer. */
class ChangingRelation {
  readonly name: string;
  readonly #random: () => number;
  #family: Family = "integer";
  #before: Family = "integer";
  #isView = false;
  #made = 0;
  #rows = ROWS;

  constructor(name: string, seed: number) {
    this.name = name;
    this.#random = randomOf(seed);
  }

  #pick<T>(of: readonly T[]): T {
    return of[Math.floor(this.#random() * of.length)] as T;
  }

  get #path(): string {
    return `"${schema}"."${this.name}"`;
  }

  #create(relation: string, family: Family, type: string): string {
    const { value } = FAMILIES[family];
    return `CREATE TABLE "${schema}"."${relation}" AS
      SELECT i AS id, (${value})::${type} AS v FROM generate_series(1, ${String(this.#rows)}) i`;
  }

  async create(): Promise<void> {
    await query(this.#create(this.name, "integer", "integer"));
  }

  /** Most changes stay in the family, whose statements then mean the same. */
  #next(): readonly [Family, string] {
    const families = Object.keys(FAMILIES) as Family[];
    this.#before = this.#family;
    if (this.#random() < 0.5) this.#family = this.#pick(families);
    return [this.#family, this.#pick<string>(FAMILIES[this.#family].types)];
  }

  async change(): Promise<string> {
    const kind = this.#pick(["swap", "swap", "view", "alter", "insert"] as const);
    if (kind === "insert" && !this.#isView) {
      await query(
        `INSERT INTO ${this.#path} SELECT ${String(++this.#rows)}, v FROM ${this.#path} WHERE id = 1`,
      );
      return kind;
    }
    const [family, type] = this.#next();
    if (kind === "alter" && !this.#isView) {
      const value = FAMILIES[family].value.replaceAll(/\bi\b/g, "id");
      await query(`BEGIN; ALTER TABLE ${this.#path} ADD w ${type}; UPDATE ${this.#path} SET w = (${value})::${type};
        ALTER TABLE ${this.#path} DROP v; ALTER TABLE ${this.#path} RENAME w TO v; COMMIT`);
      return `${kind} ${type}`;
    }
    this.#rows = ROWS;
    await this.#replace(kind === "view", family, type);
    return `${kind} ${type}`;
  }

  /** In one transaction: what stands there is renamed away and dropped. */
  async #replace(isView: boolean, family: Family, type: string): Promise<void> {
    const next = `${this.name}_${String(++this.#made)}`;
    await query(this.#create(next, family, type));
    const away = `ALTER ${this.#isView ? "VIEW" : "TABLE"} ${this.#path} RENAME TO "${next}_old"`;
    const here = isView
      ? `CREATE VIEW ${this.#path} AS SELECT * FROM "${schema}"."${next}"`
      : `ALTER TABLE "${schema}"."${next}" RENAME TO "${this.name}"`;
    await query(
      `BEGIN; ${away}; ${here}; COMMIT; DROP ${this.#isView ? "VIEW" : "TABLE"} "${schema}"."${next}_old"`,
    );
    this.#isView = isView;
  }

  /** A request, and the SQL of its ids; null where the value may not be one of the type. */
  request(): { readonly target: string; readonly sql: string | null } {
    const family = this.#random() < 0.8 ? this.#family : this.#before;
    const operator = this.#pick(Object.keys(SIGNS) as Operator[]);
    const { given, cast } = FAMILIES[family];
    const value = given(1 + Math.floor(this.#random() * ROWS));
    const form = this.#pick([`?fields=id&`, "?", ".ndjson?fields=id&", "?measures=n&"]);
    const condition = `v ${SIGNS[operator]} '${value}'::${cast}`;
    const isOfType = family === this.#family;
    return {
      target: `/v1/shop/${this.name}${form}v[${operator}]=${value}`,
      sql: isOfType ? `SELECT id FROM ${this.#path} WHERE ${condition} ORDER BY id` : null,
    };
  }
}

const VARIABLES = { RATE_LIMITS: "tier3=100000000" };

it(
  `answers ${String(SEQUENCES)} requests after random changes as SQL does, and as a server that has just started`,
  async () => {
    const differing: unknown[] = [];
    const lanes = Array.from({ length: 4 }, (_, i) => `lane_${String(i)}`);
    let [asked, compared] = [0, 0];
    const drive = async (name: string, i: number): Promise<void> => {
      const relation = new ChangingRelation(name, SEED + i);
      await relation.create();
      const url = await serveManifest(manifest(name), VARIABLES);
      const ask = (at: string, target: string) => sendRequest(at, target, { key: KEYS.tier3 });
      for (let step = 0; step < SEQUENCES / lanes.length; step++) {
        const changed = await relation.change();
        const { target, sql } = relation.request();
        const { status, text } = await ask(url, target);
        asked++;
        const wanted = sql === null ? null : (await query(sql)).map(({ id }) => Number(id));
        const got = target.includes("measures")
          ? Number(/"n":(\d+)/.exec(text)?.[1] ?? 0)
          : [...text.matchAll(/"id":(\d+)/g)].map(([, id]) => Number(id));
        const expected = target.includes("measures") ? wanted?.length : wanted;
        const isRight =
          wanted === null
            ? status === 200 || status === 400
            : status === 200 && JSON.stringify(got) === JSON.stringify(expected);
        if (!isRight)
          differing.push({ name, step, changed, target, status, text: text.slice(0, 200), expected });
        if (compared < FRESH && step % Math.ceil(SEQUENCES / FRESH / lanes.length) === 0) {
          compared++;
          const service = await startManifest(manifest(name), VARIABLES);
          const fresh = await ask(service.url, target).finally(() => service.stop());
          if (fresh.status !== status || fresh.text !== text)
            differing.push({
              name,
              step,
              changed,
              target,
              got: [status, text.slice(0, 200)],
              fresh: [fresh.status, fresh.text.slice(0, 200)],
            });
        }
      }
    };
    await Promise.all(lanes.map(drive));
    console.log(
      `${String(asked)} requests after random changes, ${String(compared)} compared with a fresh server: ${String(differing.length)} differ`,
    );
    expect(differing.slice(0, 5)).toEqual([]);
  },
  180_000 + 500 * SEQUENCES,
);
