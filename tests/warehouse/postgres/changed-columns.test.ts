import { describe, expect, it } from "vitest";
import { atEnd } from "../../support/at-end.js";
import { ownSchema, query } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { type Reply, type RequestOptions, sendRequest } from "../../support/http-client.js";
import { KEYS, serveManifest } from "../../support/service.js";

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
  return async (): Promise<{ readonly failed: readonly string[]; readonly asked: number }> => {
    isOver = true;
    await running;
    return { failed, asked };
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
    const stop = askMeanwhile(endpoint, "7", 4);
    for (const length of [20, 30, 40]) await change(name, { type: `varchar(${String(length)})` });
    const { failed, asked } = await stop();
    expect(failed).toEqual([]);
    expect(asked).toBeGreaterThan(20);
    expect(await walk(endpoint)).toHaveLength(ROWS);
  });
});
