import { describe, expect, it } from "vitest";
import { byEngine, ownTables } from "../../support/engines.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, serveManifest } from "../../support/service.js";
import { type Reply, post, refusal, sendRequest, statusAndBody } from "../../support/http-client.js";
import { idsOf } from "../../support/orders.js";

const UUID = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
const OTHER = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12";
const ROWS = `
  (1, -9223372036854775808, -12.50, -1.5, '1970-01-01', '1970-01-01 00:00:00',        'a',      true,  '${UUID}'),
  (2, 0,                    0.00,   0,    '2024-02-29', '2024-02-29 23:59:59.999',    'a b',    false, '${OTHER}'),
  (3, 9223372036854775807,  99999999.99, 1e300, '2149-06-06', '2106-02-07 06:28:15',  'Ünï 😀', true,  '${UUID}'),
  (4, NULL,                 NULL,   NULL, NULL,         NULL,                         NULL,     NULL,  NULL),
  (5, 5,                    0.01,   NAN,  '2024-03-01', '2024-03-01 00:00:00',        '%',      false, '${OTHER}')`;

const COLUMNS = byEngine({
  postgres: {
    id: "integer",
    whole: "bigint",
    amount: "numeric(10,2)",
    ratio: "double precision",
    day: "date",
    at: "timestamptz",
    label: "text",
    flag: "boolean",
    code: "uuid",
  },
  clickhouse: {
    id: "Int32",
    whole: "Nullable(Int64)",
    amount: "Nullable(Decimal(10, 2))",
    ratio: "Nullable(Float64)",
    day: "Nullable(Date)",
    at: "Nullable(DateTime64(3, 'UTC'))",
    label: "Nullable(String)",
    flag: "Nullable(Bool)",
    code: "Nullable(UUID)",
  },
});
const definition = Object.entries(COLUMNS)
  .map((column) => column.join(" "))
  .join(", ");
const schema = await ownTables({
  postgres: `CREATE TABLE @.typed (${definition}); INSERT INTO @.typed VALUES ${ROWS.replace("NAN", "'NaN'")}`,
  clickhouse: [
    `CREATE TABLE @.typed (${definition}) ORDER BY id`,
    `INSERT INTO @.typed VALUES ${ROWS.replace("NAN", "nan")}`,
  ],
});

/** The numbers next to zero. */
const TINY = byEngine({
  postgres: { id: "integer", double: "double precision", single: "real" },
  clickhouse: { id: "Int32", double: "Float64", single: "Float32" },
});
const tiny = await ownTables({
  postgres:
    "CREATE TABLE @.tiny AS SELECT i AS id, i * 5e-324::float8 AS double, (i * 1e-45::real)::real AS single FROM generate_series(-1, 1) i",
  clickhouse: [
    "CREATE TABLE @.tiny (id Int32, double Float64, single Float32) ORDER BY id",
    "INSERT INTO @.tiny VALUES (-1, -5e-324, -1.4e-45), (0, 0, 0), (1, 5e-324, 1.4e-45)",
  ],
});

const NAMES = Object.keys(COLUMNS).filter((name) => name !== "id");
const BY_ID = [{ column: "id", direction: "ASC" }];
const PAGINATION = { enabled: true, default_limit: 2, max_limit: 10 };
const APIS = {
  typed: { methods: ["GET", "POST"], allow_unfiltered: true, sort: BY_ID },
  needy: { methods: ["GET", "POST"], sort: BY_ID },
  pages: { methods: ["GET", "POST"], allow_unfiltered: true, sort: BY_ID, pagination: PAGINATION },
  // A parameter of a filtered column's name.
  both: {
    methods: ["GET", "POST"],
    sort: BY_ID,
    parameters: [{ name: "label", column: "label", operator: "ILIKE", type: "string" }],
  },
  legacy: undefined,
};
const manifest = manifestOf([
  {
    name: "tiny",
    schema: tiny,
    columns: TINY,
    api: APIS.typed,
    routewright: { filters: ["double", "single"] },
  },
  ...Object.entries(APIS).map(([name, api]) => ({
    name,
    schema,
    columns: COLUMNS,
    ...(api && { api }),
    alias: "typed",
    routewright: { filters: NAMES, fields: true },
  })),
]);
const url = await serveManifest(manifest);
const key = KEYS.tier3;

/** The query string, with its brackets and values encoded as clients do. */
const search = (text: string): string =>
  new URLSearchParams(text.split("&").map((pair) => pair.split(/=(.*)/s, 2) as [string, string])).toString();
const get = (text: string, resource = "typed"): Promise<Reply> =>
  sendRequest(url, `/v1/shop/${resource}?${search(text)}`, { key });
const ids = async (text: string): Promise<unknown> => {
  const reply = await get(text);
  return reply.status === 200 ? idsOf(reply.text) : reply.text;
};

describe.each([
  ["double", "1e-400"],
  ["single", "7e-46"],
])("a %s nearer to zero than any other", (name, value) => {
  it.each([
    [`gt`, value, [1]],
    [`gte`, value, [1]],
    [`lt`, value, [-1, 0]],
    [`lte`, value, [-1, 0]],
    [`ne`, value, [-1, 0, 1]],
    [`eq`, value, []],
    [`gt`, `-${value}`, [0, 1]],
    [`gte`, `-${value}`, [0, 1]],
    [`lt`, `-${value}`, [-1]],
    [`lte`, `-${value}`, [-1]],
  ])("%s %s", async (operator, text, expected) => {
    const reply = await get(`${name}[${operator}]=${text}`, "tiny");
    expect([reply.status, idsOf(reply.text)]).toEqual([200, expected]);
  });
});

describe("a column filter", () => {
  it.each([
    ["whole[eq]=5", [5]],
    ["whole[ne]=5", [1, 2, 3]],
    ["whole[gt]=0", [3, 5]],
    ["whole[gte]=0&whole[lt]=5", [2]],
    ["whole[lte]=0", [1, 2]],
    ["whole[in]=0,5", [2, 5]],
    ["whole[gt]=9223372036854775807", []],
    ["whole[gt]=-9223372036854775808", [2, 3, 5]],
    ["whole[gte]=9223372036854775807", [3]],
    ["whole[lt]=-9223372036854775808", []],
    ["whole[lt]=99999999999999999999", [1, 2, 3, 5]],
    ["whole[gt]=99999999999999999999", []],
    ["whole[gte]=-99999999999999999999", [1, 2, 3, 5]],
    ["whole[lte]=-99999999999999999999", []],
    ["whole[ne]=99999999999999999999", [1, 2, 3, 5]],
    ["whole[null]=true", [4]],
    ["whole[null]=false", [1, 2, 3, 5]],
    ["amount[gte]=0.01", [3, 5]],
    ["amount[gt]=0.005", [3, 5]],
    ["amount[gte]=0.005", [3, 5]],
    ["amount[lt]=0.005", [1, 2]],
    ["amount[lte]=-0.001", [1]],
    ["amount[gt]=-12.501&amount[lt]=-12.499", [1]],
    ["amount[gt]=1e30", []],
    ["amount[lt]=1e30", [1, 2, 3, 5]],
    ["amount[lt]=1e2000", [1, 2, 3, 5]],
    ["amount[gt]=-1e2000", [1, 2, 3, 5]],
    ["amount[gt]=1e-2000", [3, 5]],
    ["amount[lte]=1e-2000", [1, 2]],
    ["amount[gte]=-1e-2000", [2, 3, 5]],
    ["ratio[gt]=-2", [1, 2, 3]],
    ["ratio[lt]=1e400", [1, 2, 3]],
    ["ratio[gt]=1e400", []],
    ["ratio[gte]=-1e400", [1, 2, 3]],
    ["ratio[gt]=1e-400", [3]],
    ["ratio[gte]=-1e-400", [2, 3]],
    ["ratio[ne]=0", [1, 3]],
    ["ratio[null]=true", [4, 5]],
    ["ratio[null]=false", [1, 2, 3]],
    ["day[gte]=2024-02-29&day[lt]=2024-03-01", [2]],
    ["day[gt]=1800-01-01", [1, 2, 3, 5]],
    ["day[lt]=9999-12-31", [1, 2, 3, 5]],
    ["day[lt]=+012024-01-01", [1, 2, 3, 5]],
    ["day[gt]=-012024-01-01", [1, 2, 3, 5]],
    ["day[null]=true", [4]],
    ["at[gte]=2024-02-29T23:59:59.999Z&at[lt]=2024-03-01T00:00:00Z", [2]],
    ["at[gt]=2024-02-29T23:59:59.9989Z&at[lte]=2024-02-29T23:59:59.9991Z", [2]],
    ["at[gte]=2024-03-01T02:00:00+02:00", [3, 5]],
    // Digits that no time of the column has: the value lies between two times.
    ["at[gte]=2024-02-29T23:59:59.9990001Z", [3, 5]],
    ["at[gt]=2024-02-29T23:59:59.9990001Z", [3, 5]],
    ["at[lt]=2024-02-29T23:59:59.9990001Z", [1, 2]],
    ["at[lte]=2024-02-29T23:59:59.9990001Z", [1, 2]],
    ["at[eq]=2024-02-29T23:59:59.9990001Z", []],
    ["at[in]=2024-02-29T23:59:59.9990001Z", []],
    ["at[ne]=2024-02-29T23:59:59.9990001Z", [1, 2, 3, 5]],
    ["at[gte]=2024-02-29T23:59:59.9999999Z", [3, 5]],
    ["at[lt]=+012024-01-01T00:00:00Z", [1, 2, 3, 5]],
    ["at[ne]=2024-03-01T00:00:00Z", [1, 2, 3]],
    ["label[eq]=a b", [2]],
    ["label[gte]=a&label[lte]=a", [1]],
    ["label[ne]=a", [2, 3, 5]],
    ["label[eq]=%25", [5]],
    ["label[in]=%25&label[in]=a", [1, 5]],
    ["label[null]=true", [4]],
    ["flag[eq]=true", [1, 3]],
    ["flag[ne]=true", [2, 5]],
    ["flag[null]=true", [4]],
    [`code[eq]=${UUID}`, [1, 3]],
    [`code[ne]=${UUID.toUpperCase()}`, [2, 5]],
    [`code[in]=${UUID},${OTHER}`, [1, 2, 3, 5]],
    ["whole[gte]=&amount[lt]=0", [1]],
  ])("selects the rows that compare so: ?%s", async (text, expected) => {
    expect(await ids(text.replaceAll("%25", "%"))).toEqual(expected);
  });

  it("takes an object in a body", async () => {
    const bodies: readonly (readonly [unknown, readonly number[]])[] = [
      [{ whole: { gte: 0, lt: 5 } }, [2]],
      [{ whole: { in: [0, 5] } }, [2, 5]],
      [{ whole: { eq: "9223372036854775807" }, flag: { eq: true } }, [3]],
      [{ label: { null: true } }, [4]],
      [{ label: { in: ["a,b", "a"] } }, [1]],
      [{ label: {}, amount: null, whole: { eq: null, ne: "" } }, [1, 2, 3, 4, 5]],
    ];
    for (const [body, expected] of bodies) {
      const reply = await post(url, "/v1/shop/typed", body, { key });
      expect([body, reply.status, idsOf(reply.text)]).toEqual([body, 200, expected]);
    }
  });

  it("is kept by the link to the next page", async () => {
    const first = await get("whole[null]=false", "pages");
    const next = /<([^>]+)>/.exec(first.headers.link as string)?.[1] ?? "";
    expect(idsOf((await sendRequest(url, next, { key })).text)).toEqual([3, 5]);
    const posted = await post(url, "/v1/shop/pages", { whole: { null: false } }, { key });
    expect(posted.headers.link).toBe(first.headers.link);
  });

  it("works where the model has no meta.api", async () => {
    expect(idsOf((await get("whole[eq]=5", "legacy")).text)).toEqual([5]);
    expect(statusAndBody(await get("status=x", "legacy"))[0]).toBe(400);
  });
});

const ORDERED = "eq, ne, gt, gte, lt, lte, in, null";
const operatorError = (name: string, operators = ORDERED) =>
  refusal(
    400,
    `Filter '${name}' needs one of the operators ${operators}: '${name}[eq]' in a query string, an object in a body.`,
  );

describe("a wrong column filter", () => {
  it.each([
    ["whole=5", operatorError("whole")],
    ["whole[]=5", operatorError("whole")],
    ["whole[like]=5", operatorError("whole")],
    ["whole[GTE]=5", operatorError("whole")],
    ["whole[gte][x]=5", operatorError("whole")],
    ["whole[gte]x=5", operatorError("whole")],
    ["whole[__proto__]=5", operatorError("whole")],
    ["whole[constructor]=5", operatorError("whole")],
    ["flag[gt]=true", operatorError("flag", "eq, ne, in, null")],
    ["__proto__[gte]=5", refusal(400, "Unsupported query parameters: __proto__[gte]")],
    ["[gte]=5", refusal(400, "Unsupported query parameters: [gte]")],
    ["id[gte]=5", refusal(400, "Unsupported query parameters: id[gte]")],
    ["whole[gte]=5&whole[gte]=6", refusal(400, "Parameter 'whole[gte]' expects a single value.")],
    ["whole[gte]=5.5", refusal(400, "Parameter 'whole[gte]' must be an integer.")],
    ["whole[in]=1,x", refusal(400, "Parameter 'whole[in]' must be an integer.")],
    ["amount[lt]=ten", refusal(400, "Parameter 'amount[lt]' must be a number.")],
    ["ratio[gt]=NaN", refusal(400, "Parameter 'ratio[gt]' must be a number.")],
    ["ratio[lt]=Infinity", refusal(400, "Parameter 'ratio[lt]' must be a number.")],
    ["day[gt]=2023-02-29", refusal(400, "Parameter 'day[gt]' must be a date in YYYY-MM-DD format.")],
    ["at[gt]=2023-02-28", refusal(400, "Parameter 'at[gt]' must be a date-time.")],
    ["flag[eq]=maybe", refusal(400, "Parameter 'flag[eq]' must be a boolean.")],
    ["code[ne]=x", refusal(400, "Parameter 'code[ne]' must be a UUID.")],
    ["label[null]=yes", refusal(400, "Parameter 'label[null]' must be a boolean.")],
    ["label[eq]=\0", refusal(400, "Parameter 'label[eq]' must not contain the character U+0000.")],
    [`label[eq]=${"x".repeat(1001)}`, refusal(400, "Parameter 'label[eq]' allows at most 1000 characters.")],
  ])("is refused: ?%s", async (text, expected) => {
    expect(statusAndBody(await get(text))).toEqual(expected);
  });

  it.each([
    [{ whole: 5 }, operatorError("whole")],
    [{ whole: [5] }, operatorError("whole")],
    [{ whole: { like: 5 } }, operatorError("whole")],
    [{ whole: { gte: { x: 1 } } }, refusal(400, "Parameter 'whole[gte]' expects a single value.")],
    [{ whole: { gte: [1, 2] } }, refusal(400, "Parameter 'whole[gte]' expects a single value.")],
    [{ "whole[gte]": 5 }, refusal(400, "Unsupported body fields: whole[gte]")],
    ['{"whole": {"__proto__": 5}}', operatorError("whole")],
    ['{"__proto__": {"gte": 5}}', refusal(400, "Unsupported body fields: __proto__")],
  ])("is refused in a body: %j", async (body, expected) => {
    expect(statusAndBody(await post(url, "/v1/shop/typed", body, { key }))).toEqual(expected);
  });
});

describe("an endpoint that does not allow unfiltered requests", () => {
  it.each(["whole[ne]=7", "whole[gte]=0", "whole[lt]=0&amount[gt]=0", "whole[null]=false", "whole[eq]="])(
    "refuses a filter that excludes next to nothing: ?%s",
    async (text) => {
      const message = "At least one business filter is required for this endpoint.";
      expect(statusAndBody(await get(text, "needy"))).toEqual(refusal(400, message));
    },
  );

  it.each(["whole[eq]=5", "whole[in]=5", "whole[gte]=5&whole[lt]=6", "label[eq]=%25"])(
    "answers one that selects: ?%s",
    async (text) => {
      expect(idsOf((await get(text.replace("%25", "%"), "needy")).text)).toEqual([5]);
    },
  );
});

describe("fields", () => {
  const csv = async (text: string): Promise<string> =>
    (await sendRequest(url, `/v1/shop/typed.csv?${search(text)}`, { key })).text.replaceAll("\r\n", "\n");

  it("are the columns of a row, in the order asked for", async () => {
    expect(await csv("fields=label,id&whole[eq]=0")).toBe('label,id\n"a b",2\n');
    expect(await csv("fields=id&fields=label&whole[eq]=0")).toBe('id,label\n2,"a b"\n');
    expect(await csv("fields=id,id&at[eq]=2024-03-01T00:00:00Z")).toBe("id\n5\n");
    const body = { fields: ["flag", "id"], whole: { eq: 5 } };
    const posted = await post(url, "/v1/shop/typed", body, { key });
    expect(posted.text.trim()).toBe('[{"flag":false,"id":5}]');
    expect(JSON.parse((await get("fields=", "legacy")).text)).toHaveLength(5);
    expect(JSON.parse((await get("fields=id", "legacy")).text)).toEqual(
      [1, 2, 3, 4, 5].map((id) => ({ id })),
    );
  });

  it("are kept by the link to the next page and have tags of their own", async () => {
    const [some, all] = [await get("fields=id", "pages"), await get("fields=", "pages")];
    expect(some.headers.link).toContain("fields=id");
    expect(some.headers.etag).not.toBe(all.headers.etag);
  });

  it.each(["fields=id,nothing", "fields=__proto__", "fields=id&fields=*", 'fields=id"'])(
    "that are no columns are refused: ?%s",
    async (text) => {
      const names = Object.keys(COLUMNS).join(", ");
      expect(statusAndBody(await get(text))).toEqual(refusal(400, `'fields' must be among: ${names}.`));
    },
  );
});

describe("a parameter and a filtered column of one name", () => {
  it.each([
    ["label=a", [1, 2]],
    ["label[ne]=a", '{"detail":"At least one business filter is required for this endpoint."}'],
    ["label=a&label[ne]=a", [2]],
    ["label[in]=a,%", [1, 5]],
  ])("are told apart in a query: %s", async (text, expected) => {
    const reply = await get(text, "both");
    expect(reply.status === 200 ? idsOf(reply.text) : reply.text).toEqual(expected);
  });

  it.each([
    [{ label: "a" }, [1, 2]],
    [{ label: { in: ["a", "%"] } }, [1, 5]],
    [{ label: { eq: "a", ne: "%" } }, [1]],
    [{ label: ["a"] }, '{"detail":"Parameter \'label\' expects a single value."}'],
  ])("are a value or an object in a body: %j", async (body, expected) => {
    const reply = await post(url, "/v1/shop/both", body, { key });
    expect(reply.status === 200 ? idsOf(reply.text) : reply.text).toEqual(expected);
  });
});
