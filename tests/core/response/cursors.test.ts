import { expect, it, describe } from "vitest";
import { Cursors, cursorScope } from "../../../runtime/core/response/cursors.js";
import { serve } from "../../support/command.js";
import { byEngine, engine, engineUrl, ownerQuery, ownTables } from "../../support/engines.js";
import { manifestOf } from "../../support/manifest.js";
import { serveManifest, ownInstallation } from "../../support/service.js";
import { type Reply, post, refusal, sendRequest, statusAndBody } from "../../support/http-client.js";

/** Rows with ties, nulls and special values in the first sort columns; `id` identifies a row. */
const ROWS = 2600;
const schema = await ownTables({
  postgres: `CREATE TABLE @.points AS
    SELECT g AS id, CASE WHEN g % 5 = 0 THEN NULL ELSE g % 7 END AS grp,
      CASE g % 11 WHEN 0 THEN NULL WHEN 1 THEN 'NaN' WHEN 2 THEN 'Infinity' WHEN 3 THEN '-Infinity' ELSE (g % 13)::float8 / 3 END AS score,
      CASE WHEN g % 6 = 0 THEN NULL ELSE (g % 17)::numeric / 7 + 1234567890123456789012345 END AS amount,
      CASE WHEN g % 4 = 0 THEN NULL ELSE timestamptz '2026-03-01 00:00:00.000001+00' + (g % 19) * interval '1 microsecond' END AS at,
      CASE WHEN g % 9 = 0 THEN NULL ELSE (ARRAY['', 'a', 'A', E'\\x1f', E'\\x1e', 'é''"\\', E'x\\ny', '%'])[g % 8 + 1] END AS label,
      g % 3 = 0 AS flag, date '2026-01-01' + g % 23 AS day, md5(g::text)::uuid AS uid, 'o' || g % 2 AS org
    FROM generate_series(1, ${String(ROWS)}) g;
    CREATE INDEX ON @.points (grp, id); CREATE INDEX ON @.points (day DESC, id);
    CREATE VIEW @.points_view AS SELECT * FROM @.points;
    CREATE TABLE @.long AS SELECT id, id || repeat('x', 7000) AS label FROM @.points; ANALYZE @.points;`,
  clickhouse: [
    `CREATE TABLE @.points (id Int64, grp Nullable(Int32), score Nullable(Float64), amount Nullable(Decimal(38, 10)),
       at Nullable(DateTime64(6, 'Asia/Tokyo')), label Nullable(String), flag Bool, day Date, uid UUID, org String,
       kind Enum8('z' = 1, 'a' = 2), bytes FixedString(3)) ORDER BY (day, id)`,
    `INSERT INTO @.points SELECT number + 1 AS id, if(id % 5 = 0, NULL, id % 7), multiIf(id % 11 = 0, NULL, id % 11 = 1, nan,
       id % 11 = 2, inf, id % 11 = 3, -inf, id % 11 = 4, -0.0, (id % 13) / 3), if(id % 6 = 0, NULL, toDecimal128((id % 17) / 7, 10) + 1234567890123456789),
       if(id % 4 = 0, NULL, addMicroseconds(toDateTime64('2026-03-01 00:00:00.000001', 6, 'UTC'), id % 19)),
       if(id % 9 = 0, NULL, ['', 'a', 'A', '\\x1f', unhex('ff00'), 'é\\'"\\\\', 'x\\ny', '%'][id % 8 + 1]),
       id % 3 = 0, toDate('2026-01-01') + id % 23, reinterpretAsUUID(MD5(toString(id))), 'o' || toString(id % 2),
       if(id % 2 = 0, 'z', 'a'), toFixedString(char(id % 250), 3) FROM numbers(${String(ROWS)})`,
    "CREATE VIEW @.points_view AS SELECT * FROM @.points",
    "CREATE TABLE @.long ORDER BY id AS SELECT id, concat(toString(id), repeat('x', 7000)) AS label FROM @.points",
  ],
});

const COLUMNS = byEngine<Readonly<Record<string, string>>>({
  postgres: {
    ...{ id: "bigint", grp: "integer", score: "double precision", amount: "numeric", at: "timestamptz" },
    ...{ label: "text", flag: "boolean", day: "date", uid: "uuid", org: "text" },
  },
  clickhouse: {
    ...{
      id: "Int64",
      grp: "Nullable(Int32)",
      score: "Nullable(Float64)",
      amount: "Nullable(Decimal(38, 10))",
    },
    ...{ at: "Nullable(DateTime64(6, 'Asia/Tokyo'))", label: "Nullable(String)", flag: "Bool", day: "Date" },
    ...{ uid: "UUID", org: "String", kind: "Enum8('z' = 1, 'a' = 2)", bytes: "FixedString(3)" },
  },
});
const SORTABLE = Object.keys(COLUMNS);
const API = {
  methods: ["GET", "POST"],
  allow_unfiltered: true,
  pagination: { enabled: true, default_limit: 100, max_limit: 5000, response: "envelope" },
  sortable_fields: SORTABLE,
  parameters: [{ name: "groups", column: "grp", operator: "IN", type: "string_list" }],
};
const LIST = { ...API, pagination: { ...API.pagination, response: "list" } };
const model = (name: string, api: object, routewright: object = {}) => ({
  name,
  schema,
  alias: name === "view" ? "points_view" : name === "long" ? "long" : "points",
  key: "id",
  columns: COLUMNS,
  api,
  routewright: { cursor: true, fields: true, filters: ["id", "label", "grp"], ...routewright },
});
const by = (...keys: readonly string[]) =>
  keys.map((key) => ({ column: key.replace("-", ""), direction: key.startsWith("-") ? "DESC" : "ASC" }));
const models = [
  model("points", API),
  model("list", { ...LIST, sort: by("-day") }),
  model("other", API),
  model("own", API, { rows: { column: "org", equals: "org" } }),
  model("view", { ...API, sort: by("grp") }),
  model("long", API),
];

const owner = (org: string) => ({ tier: "tier3", user: "someone", org });
const API_KEYS = JSON.stringify({ sk_live_zero: owner("o0"), sk_live_one: owner("o1") });
const CURSOR_KEY = "ab".repeat(32);
const variables = { API_KEYS, CURSOR_KEY, RATE_LIMITS: "tier3=1000000,tier0=1000000" };
const url = await serveManifest(manifestOf(models), variables);
const get = (target: string, key = "zero", from = url): Promise<Reply> =>
  sendRequest(from, `/v1/shop/${target}`, { key: `sk_live_${key}` });

interface Page {
  readonly items: readonly Record<string, unknown>[];
  readonly pagination: {
    offset: number | null;
    returned: number;
    has_more: boolean;
    next_cursor: string | null;
  };
}
const pageOf = (reply: Reply): Page => {
  expect([reply.status, reply.text.slice(0, 300)]).toEqual([200, expect.anything()]);
  return JSON.parse(reply.text) as Page;
};
const nextOf = ({ headers }: Reply): string | null =>
  /<([^>]*)>; rel="next"/.exec(String(headers.link ?? ""))?.[1] ?? null;

/** The ids of a walk by `Link`. */
async function walk(target: string, key = "zero", from = url): Promise<readonly unknown[]> {
  const ids: unknown[] = [];
  for (let next: string | null = `/v1/shop/${target}`; next !== null;) {
    const reply: Reply = await sendRequest(from, next, { key: `sk_live_${key}` });
    const page = pageOf(reply);
    ids.push(...page.items.map(({ id }) => id));
    next = nextOf(reply);
    expect(next === null).toBe(page.pagination.next_cursor === null);
    if (next !== null) expect(next).toContain("cursor=");
  }
  return ids;
}

describe("a walk by cursor", () => {
  const sorts = [
    "",
    ...SORTABLE.flatMap((name) => [`sort_by=${name}`, `sort_by=${name}&sort_direction=DESC`]),
  ];
  it.each(sorts)("has every row once, in the order of the sort: %s", async (sort) => {
    const whole = pageOf(await get(`points?limit=5000&${sort}`)).items.map(({ id }) => id);
    expect(new Set(whole).size).toBe(ROWS);
    expect(await walk(`points?limit=260&fields=id&${sort}`)).toEqual(whole);
  });

  it("begins at an offset, changes its limit, filters, and goes through a view and own rows", async () => {
    const whole = pageOf(await get("view?limit=5000")).items.map(({ id }) => id);
    expect(await walk("view?limit=150")).toEqual(whole);
    expect(await walk("view?limit=150&offset=120")).toEqual(whole.slice(120));
    const first = pageOf(await get("view?limit=10"));
    const second = pageOf(await get(`view?limit=200&cursor=${String(first.pagination.next_cursor)}`));
    expect(second.items.map(({ id }) => id)).toEqual(whole.slice(10, 210));
    expect(second.pagination).toMatchObject({ limit: 200, offset: null, returned: 200, has_more: true });
    const some = pageOf(await get("points?limit=5000&groups=1,3&label[ne]=a&sort_by=score")).items.map(
      ({ id }) => id,
    );
    expect(some.length).toBeGreaterThan(100);
    expect(await walk("points?limit=20&groups=1,3&label[ne]=a&sort_by=score")).toEqual(some);
    const own = await walk("own?limit=300", "one");
    expect(own).toHaveLength(ROWS / 2);
    expect(own.every((id) => Number(id) % 2 === 1)).toBe(true);
  });

  it("goes through workers that share no CURSOR_KEY of their user's: each request may reach another", async () => {
    const folder = ownInstallation(manifestOf(models));
    const args = ["--only", "data", "--workers", "2"];
    const served = await serve(folder, args, { DATABASE_URL: engineUrl(), API_KEYS });
    const workers = (): number => {
      const lines = served.printed().stdout.matchAll(/"worker":(\d).*"route":"\/v1\/shop\/points"/g);
      return new Set([...lines].map(([, worker]) => worker)).size;
    };
    // The kernel chooses the worker.
    for (let walks = 0; walks < 20 && workers() < 2; walks++)
      expect(new Set(await walk("points?limit=130", "zero", served.url)).size).toBe(ROWS);
    expect(workers()).toBe(2);
  });

  it("counts all rows, not those behind the cursor", async () => {
    const { pagination } = pageOf(await get("points?limit=2500"));
    const headers = { prefer: "count=exact" };
    for (const cursor of ["", `&cursor=${String(pagination.next_cursor)}`]) {
      const reply = await sendRequest(url, `/v1/shop/points?limit=2500${cursor}`, { headers });
      expect(reply.headers["x-total-count"]).toBe(String(ROWS));
    }
  });
});

describe("pages", () => {
  it.each([".csv", ".ndjson", ".parquet", ".arrow", ""])(
    "are linked by cursor in every format, also as streams: list%s",
    async (format) => {
      for (const limit of [50, 1300]) {
        const reply = await get(`list${format}?limit=${String(limit)}&fields=id`);
        expect(reply.status).toBe(200);
        const next = await sendRequest(url, String(nextOf(reply)));
        expect(next.status).toBe(200);
        expect(next.text).not.toBe(reply.text);
      }
      const last = await sendRequest(url, String(nextOf(await get(`list${format}?limit=2000&fields=id`))));
      expect([last.status, nextOf(last)]).toEqual([200, null]);
    },
  );

  it("stream with the key of the row that was sent", async () => {
    const sorted = "list?limit=1100&sort_by=amount&sort_direction=DESC";
    const first = await get(sorted);
    const second = await sendRequest(url, String(nextOf(first)));
    const third = await sendRequest(url, String(nextOf(second)));
    const rows = [first, second, third].flatMap(({ text }) => JSON.parse(text) as readonly { id: number }[]);
    expect(new Set(rows.map(({ id }) => id)).size).toBe(ROWS);
    expect(nextOf(third)).toBeNull();
  });

  it("whose sort key fits into no cursor are refused, and leave no query behind", async () => {
    for (let i = 0; i < 12; i++)
      expect(statusAndBody(await get("long?limit=1500&sort_by=label&fields=id"))).toEqual(
        refusal(
          400,
          "The sort key of the page's last row does not fit into a cursor. Sort by other columns, or page by offset.",
        ),
      );
    expect((await get("long?limit=1500&fields=id")).status).toBe(200);
  });

  it("are found by a body, and have tags of their own", async () => {
    const body = await post(url, "/v1/shop/points", { limit: 3, groups: ["1", "2"] });
    const cursor = pageOf(body).pagination.next_cursor;
    const second = pageOf(await post(url, "/v1/shop/points", { limit: 3, groups: ["1", "2"], cursor }));
    const linked = await sendRequest(url, String(nextOf(body)));
    expect(pageOf(linked).items).toEqual(second.items);
    expect(linked.headers.etag).not.toBe((await get("points?limit=3&groups=1,2")).headers.etag);
  });
});

it("is an argument of the tool for language models, also where a page is cut to fit", async () => {
  const call = async (args: object) => {
    const params = { name: "query_endpoint", arguments: { path: "/v1/shop/points", ...args } };
    const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
    const headers = { accept: "application/json, text/event-stream", "content-type": "application/json" };
    const reply = await post(url, "/mcp", message, { headers });
    const { result } = JSON.parse(reply.text) as {
      result: {
        structuredContent: {
          returned: number;
          next_cursor?: string;
          next_offset?: number;
          rows: { id: number }[];
        };
      };
    };
    return result.structuredContent;
  };
  const first = await call({ limit: 60 });
  expect(first).toMatchObject({ returned: 60, next_offset: 60, next_cursor: expect.any(String) as string });
  const second = await call({ limit: 60, cursor: first.next_cursor });
  expect(second.rows.map(({ id }) => id)).toEqual(Array.from({ length: 60 }, (_, i) => i + 61));
  expect(second.next_offset).toBeUndefined();
  // 100 rows of all columns are longer than a call's limit.
  const cut = await call({ limit: 100, cursor: second.next_cursor });
  expect(cut.returned).toBeLessThan(100);
  const behind = await call({ limit: 1, cursor: cut.next_cursor });
  expect(behind.rows[0]?.id).toBe(120 + cut.returned + 1);
  const last = await call({ parameters: { "id[gt]": ROWS - 3 } });
  expect([last.returned, last.next_cursor]).toEqual([3, undefined]);
});

describe("a cursor", () => {
  const INVALID = refusal(
    400,
    "'cursor' is not a cursor of this endpoint with these filters and this sort. Ask for the first page without it.",
  );
  const cursorOf = async (target: string, key = "zero"): Promise<string> =>
    String(pageOf(await get(target, key)).pagination.next_cursor);

  it("is refused when forged, cut, foreign or of another filter or sort", async () => {
    const cursor = await cursorOf("points?limit=5");
    expect((await get(`points?limit=7&cursor=${cursor}`)).status).toBe(200);
    const bytes = Buffer.from(cursor, "base64url");
    const flipped = Buffer.from(bytes.map((byte, i) => (i === bytes.length - 4 ? byte ^ 1 : byte)));
    const forged = Buffer.concat([Buffer.alloc(16), Buffer.from('[["1"],"",""]')]);
    const wrong = [
      ...[
        cursor.slice(0, -1),
        cursor.slice(4),
        `${cursor}A`,
        `${cursor}=`,
        `.${cursor}`,
        "null",
        "0",
        "[]",
        "%00",
      ],
      ...[
        flipped.toString("base64url"),
        forged.toString("base64url"),
        "A".repeat(9000),
        "'; DROP TABLE points",
      ],
    ];
    for (const text of wrong)
      expect([text, statusAndBody(await get(`points?cursor=${encodeURIComponent(text)}`))]).toEqual([
        text,
        INVALID,
      ]);
    for (const target of [
      "other?",
      "points?groups=1&",
      "points?id[gt]=3&",
      "points?sort_by=day&",
      "points?sort_by=grp&sort_direction=DESC&",
      "own?",
    ])
      expect([target, statusAndBody(await get(`${target}cursor=${cursor}`))]).toEqual([target, INVALID]);
    const own = await cursorOf("own?limit=5", "one");
    expect((await get(`own?cursor=${own}`, "one")).status).toBe(200);
    expect(statusAndBody(await get(`own?cursor=${own}`, "zero"))).toEqual(INVALID);
  });

  it("is valid on servers with the same key only", async () => {
    const cursor = await cursorOf("points?limit=5");
    const [same, another] = [
      await serveManifest(manifestOf(models), variables),
      await serveManifest(manifestOf(models), { ...variables, CURSOR_KEY: "" }),
    ];
    expect((await get(`points?cursor=${cursor}`, "zero", same)).status).toBe(200);
    expect(statusAndBody(await get(`points?cursor=${cursor}`, "zero", another))).toEqual(INVALID);
  });

  it("is the same text in every version, so that a walk goes on where a server is replaced", () => {
    const cursors = new Cursors(Buffer.alloc(32, 7));
    const region = { name: "region", column: "region", operator: "=", type: "string", value: "a" } as const;
    const selection = { conditions: [region], sort: [["day", "DESC"]], page: null } as const;
    const scope = cursorScope({ path: "/v1/shop/orders" }, selection);
    const text = cursors.write({ scope, after: null, types: "abcdefgh" }, ["2026-01-01"]);
    expect(text).toBe("Uy-6zxsYBEI67PMb_H4GBFtbIjIwMjYtMDEtMDEiXSwiYWJjZGVmZ2giXQ");
    expect(cursors.read(text, scope)).toEqual({ values: ["2026-01-01"], types: "abcdefgh" });
    expect(cursors.read(text, cursorScope({ path: "/v1/shop/refunds" }, selection))).toBeNull();
  });

  it("excludes an offset that is not the default, and is given once", async () => {
    const cursor = await cursorOf("points?limit=5");
    for (const offset of ["0", "%2B0", ""])
      expect((await get(`points?limit=5&cursor=${cursor}&offset=${offset}`)).text).toBe(
        (await get(`points?limit=5&cursor=${cursor}`)).text,
      );
    expect(statusAndBody(await get(`points?cursor=${cursor}&offset=5`))).toEqual(
      refusal(400, "'cursor' and 'offset' exclude each other. Send one of them."),
    );
    for (const target of [
      `points?cursor=${cursor}&cursor=${cursor}`,
      `points?cursor[]=${cursor}`,
      `points?cursor[0]=${cursor}`,
      `points?cursor[gte]=${cursor}`,
      "points?id[gte][x]=1",
      "points?id[__proto__]=1",
      "points?id[constructor]=1",
      "points?__proto__[cursor]=1",
      "points?id[gte]=1&id[gte]=2",
      "points?id[]=1",
      "points?[id]=1",
      "points?id[gte=1",
    ])
      expect([target, (await get(target)).status]).toEqual([target, 400]);
    for (const body of [{ cursor: [cursor] }, { cursor: { eq: cursor } }, { id: { gte: { x: 1 } } }])
      expect((await post(url, "/v1/shop/points", body)).status).toBe(400);
  });

  it("is refused once a sort column has another type", async () => {
    const cursor = await cursorOf("points?limit=5&sort_by=flag");
    await ownerQuery(
      engine === "clickhouse"
        ? `ALTER TABLE ${schema}.points MODIFY COLUMN flag String SETTINGS mutations_sync = 2`
        : `DROP VIEW ${schema}.points_view; ALTER TABLE ${schema}.points ALTER COLUMN flag TYPE text`,
    );
    await expect
      .poll(async () => statusAndBody(await get(`points?limit=5&sort_by=flag&cursor=${cursor}`)))
      .toEqual(INVALID);
    expect((await get("points?limit=5&sort_by=flag")).status).toBe(200);
  });
});
