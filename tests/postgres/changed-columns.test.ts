import { describe, expect, it } from "vitest";
import { atEnd } from "../support/at-end.js";
import { ownSchema, query } from "../support/database.js";
import { manifestOf } from "../support/manifest.js";
import { type Reply, type RequestOptions, sendRequest } from "../support/http-client.js";
import { KEYS, serveManifest } from "../support/service.js";

const schema = await ownSchema("");

/** A column as it is made: its type, and the value of row `i`. */
interface Made {
  readonly type: string;
  readonly value?: string;
  /** What a row shows of row 7; by default as before. */
  readonly shown?: unknown;
}

const table = (name: string): string => `"${schema}"."${name}"`;
const ROWS = 40;

const create = (name: string, { type, value = "i::text" }: Made): Promise<unknown> =>
  query(
    `CREATE TABLE ${table(name)} AS SELECT i AS id, (${value})::${type} AS v FROM generate_series(1, ${String(ROWS)}) i`,
  );

/** As dbt replaces a table: built beside it, renamed, the old one dropped. */
async function swap(name: string, made: Made): Promise<void> {
  await create(`${name}_tmp`, made);
  await query(`BEGIN; ALTER TABLE ${table(name)} RENAME TO "${name}_old";
    ALTER TABLE ${table(`${name}_tmp`)} RENAME TO "${name}"; COMMIT; DROP TABLE ${table(`${name}_old`)}`);
}

const alter = (name: string, { type, value = "i::text" }: Made): Promise<unknown> =>
  query(`ALTER TABLE ${table(name)} ALTER v TYPE ${type} USING (${value.replaceAll("i", "id")})::${type}`);

async function serve(name: string, type: string): Promise<string> {
  const manifest = manifestOf([
    {
      name,
      schema,
      columns: { id: "integer", v: type },
      key: "id",
      api: {
        methods: ["GET", "POST"],
        allow_unfiltered: true,
        pagination: { enabled: true, default_limit: 10, max_limit: 100 },
        sort: [
          { column: "v", direction: "ASC" },
          { column: "id", direction: "ASC" },
        ],
      },
      routewright: {
        cursor: true,
        fields: true,
        filters: ["id", "v"],
        aggregate: { group_by: ["v"], measures: { n: { agg: "count" } } },
      },
    },
  ]);
  const url = await serveManifest(manifest, { RATE_LIMITS: "tier3=10000000" });
  return `${url}/v1/shop/${name}`;
}

/** Every form in which the column is read, compared, sorted or grouped; the value is that of row 7. */
const requestsOf = (value: string): readonly (RequestOptions & { readonly target: string })[] => [
  ...["", ".csv", ".ndjson", ".parquet", ".arrow"].map((format) => ({ target: `${format}?id[eq]=7` })),
  { target: "?fields=v&id[eq]=7" },
  { target: "?fields=id&id[eq]=7" },
  ...["eq", "gte", "lte", "in"].map((operator) => ({ target: `?v[${operator}]=${value}` })),
  { target: `?fields=id&v[eq]=${value}` },
  { target: "?id[eq]=7", headers: { prefer: "count=exact" } },
  { target: `?v[eq]=${value}`, headers: { prefer: "count=exact" } },
  { target: "?measures=n&group_by=v" },
  { target: `?measures=n&v[eq]=${value}` },
  {
    target: "",
    method: "POST",
    headers: { "content-type": "application/json" },
    body: { id: { eq: 7 }, v: { eq: value } },
  },
];

async function ask(
  endpoint: string,
  { target, ...question }: RequestOptions & { readonly target: string },
): Promise<Reply> {
  const { origin, pathname } = new URL(endpoint);
  return sendRequest(origin, pathname + target, { ...question, key: KEYS.tier3 });
}

/** The ids of all rows, page after page by cursor. */
async function walk(endpoint: string): Promise<readonly number[] | string> {
  const ids: number[] = [];
  for (let target: string | undefined = "?fields=id&limit=7"; target !== undefined;) {
    const { status, text, headers } = await ask(endpoint, { target });
    if (status === 400) return "invalid cursor";
    if (status !== 200) return `${String(status)} ${text}`;
    for (const { id } of JSON.parse(text) as readonly { readonly id: number }[]) ids.push(id);
    target = /<[^>?]*(\?[^>]*)>; rel="next"/.exec(String(headers.link ?? ""))?.[1];
  }
  return ids;
}

/** Asks in all forms over and over until stopped; the answers that failed. */
function askMeanwhile(endpoint: string, value: string, callers: number) {
  const failed: string[] = [];
  let [isOver, asked] = [false, 0];
  const caller = async (offset: number): Promise<void> => {
    const requests = requestsOf(value);
    for (let i = offset; !isOver; i++) {
      const request = requests[i % requests.length] ?? { target: "" };
      const { status, text } = await ask(endpoint, request);
      asked++;
      if (status !== 200) failed.push(`${request.target}: ${String(status)} ${text.slice(0, 200)}`);
    }
  };
  const running = Promise.all(Array.from({ length: callers }, (_, i) => caller(i)));
  atEnd(() => void (isOver = true));
  return {
    /** Waits until so many more are answered. */
    async more(count: number): Promise<void> {
      const until = asked + count;
      await expect.poll(() => asked, { interval: 5 }).toBeGreaterThanOrEqual(until);
    },
    async stop(): Promise<readonly string[]> {
      isOver = true;
      await running;
      return failed;
    },
  };
}

describe("a varchar that becomes longer while requests run", () => {
  it.each([
    ["by ALTER", alter],
    ["by a swap of dbt", swap],
  ])("%s is answered in every form", async (_, change) => {
    const name = change === alter ? "altered" : "swapped";
    await create(name, { type: "varchar(10)" });
    const endpoint = await serve(name, "character varying(10)");
    for (let i = 0; i < 3; i++)
      for (const request of requestsOf("7")) expect((await ask(endpoint, request)).status).toBe(200);
    const asking = askMeanwhile(endpoint, "7", 4);
    for (const length of [20, 30, 40]) {
      await asking.more(10);
      await change(name, { type: `varchar(${String(length)})` });
    }
    await asking.more(10);
    expect(await asking.stop()).toEqual([]);
    expect(await walk(endpoint)).toHaveLength(ROWS);
  });
});

/** A type that becomes another one, and a filter whose rows the old type would decide wrongly. */
const CHANGES = [
  {
    from: { type: "date", value: "date '2026-01-01' + i" },
    to: { type: "timestamptz", value: "timestamptz '2026-01-01 12:00Z' + i * interval '1 day'" },
    filter: "v[gte]=2026-02-10T10:00:00Z",
    ids: [40],
  },
  {
    from: { type: "integer", value: "i" },
    to: { type: "text", value: "'x' || i" },
    filter: "v[eq]=x7",
    ids: [7],
  },
  {
    from: { type: "text", value: "'0' || i" },
    to: { type: "integer", value: "i" },
    filter: "v[gte]=40",
    ids: [40],
  },
  {
    from: { type: "smallint", value: "i" },
    to: { type: "bigint", value: "i * 100000" },
    filter: "v[eq]=700000",
    ids: [7],
  },
  {
    from: { type: "integer", value: "i" },
    to: { type: "numeric(10,2)", value: "i + 0.5" },
    filter: "v[eq]=7.5",
    ids: [7],
  },
  {
    from: { type: "money", value: "i" },
    to: { type: "numeric", value: "i + 0.005" },
    filter: "v[eq]=7.005",
    ids: [7],
  },
  {
    from: { type: "timestamp(0)", value: "timestamp '2026-01-01' + i * interval '1.5 s'" },
    to: { type: "timestamptz(3)", value: "timestamptz '2026-01-01Z' + i * interval '1.5 s'" },
    filter: "v[lte]=2026-01-01T00:00:01.5Z",
    ids: [1],
  },
  {
    from: { type: "text", value: "i" },
    to: { type: "inet", value: "('10.0.0.' || i)" },
    filter: "v[eq]=10.0.0.7/32",
    ids: [7],
  },
  {
    from: { type: "boolean", value: "i = 7" },
    to: { type: "text", value: "CASE WHEN i = 7 THEN 'yes' ELSE 'no' END" },
    filter: "v[eq]=yes",
    ids: [7],
  },
  {
    from: { type: "real", value: "i" },
    to: { type: "double precision", value: "i + 1e-12" },
    filter: "v[lte]=1.000000000001",
    ids: [1],
  },
] as const;

describe.each(["by ALTER", "by a swap of dbt"])("a type that becomes another one %s", (how) => {
  it.each(CHANGES)(
    "$from.type to $to.type: the next answers are by the new type",
    async ({ from, to, filter, ids }) => {
      const name = `t${String(CHANGES.findIndex((each) => each.from === from && each.to === to))}_${how.replaceAll(" ", "_")}`;
      await create(name, from);
      const endpoint = await serve(name, from.type);
      const targets = [
        `?fields=id&${filter}`,
        `?${filter}`,
        `.ndjson?fields=id&${filter}`,
        `?measures=n&${filter}`,
      ];
      for (let i = 0; i < 3; i++)
        for (const target of ["?fields=id", "?v[null]=false", "?measures=n&v[null]=false"])
          expect((await ask(endpoint, { target })).status).toBe(200);
      for (let i = 0; i < 3; i++) for (const target of targets) await ask(endpoint, { target });
      await (how === "by ALTER" ? alterBySwap(name, to) : swap(name, to));
      const answers = await Promise.all(targets.map((target) => ask(endpoint, { target })));
      expect(answers.map(({ status, text }) => (status === 200 ? 200 : `${String(status)} ${text}`))).toEqual(
        [200, 200, 200, 200],
      );
      const [rows, whole, lines, groups] = answers.map(({ text }) => text);
      const idsOf = (text = ""): number[] => [...text.matchAll(/"id":(\d+)/g)].map(([, id]) => Number(id));
      expect([idsOf(rows), idsOf(whole), idsOf(lines)]).toEqual([ids, ids, ids]);
      expect(groups).toBe(JSON.stringify([{ n: ids.length }]));
    },
  );
});

it("a value that is not of the new type is refused, in rows and in groups", async () => {
  await create("refused", { type: "numeric", value: "i" });
  const endpoint = await serve("refused", "numeric");
  const targets = ["?fields=id&v[lt]=7.25", "?v[lt]=7.25", "?measures=n&v[lt]=7.25"];
  for (let i = 0; i < 3; i++)
    for (const target of targets) expect((await ask(endpoint, { target })).status).toBe(200);
  for (const target of targets) {
    await swap("refused", { type: "numeric", value: "i" });
    expect((await ask(endpoint, { target })).status).toBe(200);
    await swap("refused", { type: "date", value: "date '2026-01-01' + i" });
    const { status, text } = await ask(endpoint, { target });
    expect([target, status, text]).toEqual([
      target,
      400,
      `{"detail":"Parameter 'v[lt]' must be a date in YYYY-MM-DD format."}`,
    ]);
  }
});

/** The values of another table, in place: the relation stays the same. */
async function alterBySwap(name: string, made: Made): Promise<void> {
  await create(`${name}_new`, made);
  await query(`BEGIN; ALTER TABLE ${table(name)} ADD w ${made.type};
    UPDATE ${table(name)} SET w = n.v FROM ${table(`${name}_new`)} n WHERE n.id = ${table(name)}.id;
    ALTER TABLE ${table(name)} DROP v; ALTER TABLE ${table(name)} RENAME w TO v; COMMIT; DROP TABLE ${table(`${name}_new`)}`);
}
