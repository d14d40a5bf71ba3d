import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { byEngine, ownTables } from "../../support/engines.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, serveManifest } from "../../support/service.js";
import { type Reply, post, refusal, sendRequest, statusAndBody } from "../../support/http-client.js";

/** Rows of two organizations and of none, more than a buffered result holds. */
const EACH = 1500;
const schema = await ownTables({
  postgres: `CREATE TABLE @.payments AS
    SELECT g AS id, (ARRAY['acme', 'globex', NULL])[g % 3 + 1] AS org_id, g % 2 + 1 AS org_no, 'x' || g AS label
    FROM generate_series(1, ${String(3 * EACH)}) g`,
  clickhouse: [
    "CREATE TABLE @.payments (id Int64, org_id Nullable(String), org_no Int64, label String) ORDER BY id",
    `INSERT INTO @.payments SELECT number + 1 AS id, [toNullable('acme'), 'globex', NULL][id % 3 + 1], id % 2 + 1,
     'x' || toString(id) FROM numbers(${String(3 * EACH)})`,
  ],
});

const COLUMNS = byEngine({
  postgres: { id: "bigint", org_id: "text", org_no: "bigint", label: "text" },
  clickhouse: { id: "Int64", org_id: "Nullable(String)", org_no: "Int64", label: "String" },
});
const BY_ID = [{ column: "id", direction: "ASC" }];
const PAGINATION = { enabled: true, default_limit: 50, max_limit: 2000 };
const FILTER = { name: "org", column: "org_id", operator: "=", type: "string" };
const API = {
  methods: ["GET", "POST"],
  allow_unfiltered: true,
  sort: BY_ID,
  sortable_fields: ["id", "label"],
  parameters: [FILTER],
};
const APIS = {
  whole: API,
  pages: { ...API, pagination: PAGINATION },
  envelope: { ...API, pagination: { ...PAGINATION, response: "envelope" } },
  legacy: undefined,
};
const ROWS = { column: "org_id", equals: "org" };
const model = (name: string, api: unknown, rows: unknown = ROWS) => ({
  name,
  schema,
  alias: "payments",
  columns: COLUMNS,
  api,
  routewright: { rows, filters: ["org_id", "id"], fields: true },
});
const manifest = manifestOf([
  ...Object.entries(APIS).map(([name, api]) => model(name, api)),
  model("numbered", API, { column: "org_no", equals: "org" }),
]);

const owner = (tier: string, org?: string) => ({ tier, user: "someone", ...(org !== undefined && { org }) });
const keys = {
  acme: owner("tier3", "acme"),
  globex: owner("tier3", "globex"),
  all: owner("tier3", "*"),
  none: owner("tier3"),
  empty: owner("tier0", ""),
  quote: owner("tier3", "x' OR '1'='1"),
  upper: owner("tier3", "ACME"),
  first: owner("tier3", "1"),
  [KEYS.tier1]: owner("tier1", "acme"),
};
const API_KEYS = JSON.stringify(
  Object.fromEntries(
    Object.entries(keys).map(([name, value]) => [name.replace(/^(?!sk_)/, "sk_live_"), value]),
  ),
);
const urls = [
  await serveManifest(manifest, { API_KEYS, RATE_LIMITS: "tier3=10000000" }),
  await serveManifest(manifest, { API_KEYS, RATE_LIMITS: "tier3=10000000", CACHE_TTL_SECONDS: "60" }),
];
const [url = ""] = urls;
const get = (target: string, name?: string): Promise<Reply> =>
  sendRequest(url, `/v1/shop/${target}`, name === undefined ? {} : { key: `sk_live_${name}` });
const FORBIDDEN = refusal(
  403,
  "This endpoint serves each organization its own rows. Send the key of an organization.",
);

describe("an endpoint with own rows", () => {
  it.each(Object.keys(APIS))("refuses callers without an organization: %s", async (name) => {
    for (const caller of [undefined, "none", "empty"])
      for (const target of [name, `${name}.csv`, `${name}?id[eq]=1`, `${name}?nothing=1`])
        expect(statusAndBody(await get(target, caller))).toEqual(FORBIDDEN);
  });

  it("reads an organization as a value: quotes, letter case, another type", async () => {
    expect(JSON.parse((await get("whole?id[lt]=10", "quote")).text)).toEqual([]);
    expect(JSON.parse((await get("whole", "upper")).text)).toEqual([]);
    expect(statusAndBody(await get("numbered", "acme"))).toEqual(FORBIDDEN);
    expect(JSON.parse((await get("numbered?fields=id&id[lte]=4", "first")).text)).toEqual([
      { id: 2 },
      { id: 4 },
    ]);
  });

  it("serves all rows to the organization *", async () => {
    const rows = JSON.parse((await get("whole?id[lte]=6", "all")).text) as readonly unknown[];
    expect(rows).toHaveLength(6);
    expect((await get("whole?org=globex&id[lte]=6", "acme")).text.trim()).toBe("[]");
  });
});

describe("Prefer: count=exact", () => {
  const totalOf = async (target: string, name: string, prefer = "count=exact"): Promise<unknown> => {
    const headers = { prefer };
    const reply = await sendRequest(url, `/v1/shop/${target}`, { key: `sk_live_${name}`, headers });
    expect(reply.status).toBe(200);
    return [reply.headers["x-total-count"], reply.headers["preference-applied"]];
  };
  const applied = (total: number) => [String(total), "count=exact"];

  it("counts the rows of all pages, of the caller's organization only", async () => {
    expect(await totalOf("pages?limit=3", "acme")).toEqual(applied(EACH));
    expect(await totalOf("pages?limit=3&offset=5000", "acme")).toEqual(applied(EACH));
    expect(await totalOf("pages?limit=2000&id[lte]=30", "acme")).toEqual(applied(10));
    expect(await totalOf("envelope.csv?id[gt]=30&limit=1", "globex")).toEqual(applied(EACH - 10));
    expect(await totalOf("pages?limit=1", "all")).toEqual(applied(3 * EACH));
    // A streamed result, and one that is empty.
    expect(await totalOf("whole", "acme")).toEqual(applied(EACH));
    expect(await totalOf("whole", "upper")).toEqual(applied(0));
  });

  it("is read as RFC 7240 writes it; without it nothing is counted", async () => {
    expect(await totalOf("pages", "acme", 'respond-async, Count="exact"; x=1')).toEqual(applied(EACH));
    for (const other of ["count=none", "discount=exact", "count=exactly", "x"])
      expect(await totalOf("pages", "acme", other)).toEqual([undefined, undefined]);
  });
});

/** Ids whose row belongs to an organization. */
const REMAINDER = { acme: 0, globex: 1 } as const;
type Org = keyof typeof REMAINDER;

function idsOf(text: string, format: string): readonly number[] {
  if (format === ".csv")
    return text
      .split("\r\n")
      .slice(1, -1)
      .map((line) => Number(line.split(",")[0]));
  const rows = format === ".ndjson" ? `[${text.trim().replaceAll("\n", ",")}]` : text;
  const body = JSON.parse(rows) as readonly { id: number }[] | { items: readonly { id: number }[] };
  return ("items" in body ? body.items : (body as readonly { id: number }[])).map(({ id }) => id);
}

const request = fc.record({
  org: fc.constantFrom<Org>("acme", "globex"),
  server: fc.constantFrom(...urls),
  endpoint: fc.constantFrom(...Object.keys(APIS)),
  format: fc.constantFrom("", ".csv", ".ndjson"),
  method: fc.constantFrom("GET", "GET", "POST"),
  // Few different requests, so that they share queries and cached results.
  search: fc.constantFrom(
    {},
    {},
    { fields: "id" },
    { fields: "id,org_id" },
    { "org_id[ne]": "acme" },
    { org: "globex" },
  ),
  page: fc.constantFrom({}, { limit: "3" }, { limit: "3", offset: "2" }, { limit: "2000" }),
});

it("never serves a row of another organization, in parallel, shared, cached and revalidated", async () => {
  const tags = new Map<string, readonly [Org, string]>();
  let [rows, unmodified] = [0, 0];
  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: 8, maxLength: 8 }), async (requests) => {
      await Promise.all(
        requests.map(async ({ org, server, endpoint, format, method, search, page }) => {
          const isPaged = endpoint === "pages" || endpoint === "envelope";
          const { org: declared, ...others } = { org: undefined, ...search } as Record<
            string,
            string | undefined
          >;
          const fields = {
            ...others,
            ...(declared && endpoint !== "legacy" && { org: declared }),
            ...(isPaged && page),
          };
          const target = `/v1/shop/${endpoint}${format}`;
          const key = `sk_live_${org}`;
          const isPost = method === "POST" && endpoint !== "legacy";
          const query = new URLSearchParams(fields as Record<string, string>).toString();
          const tagKey = `${server}${target}?${query}`;
          const [taggedBy, tag] = tags.get(tagKey) ?? [null, null];
          const headers = tag === null ? {} : { "if-none-match": tag };
          const nested = { ...fields, ...("org_id[ne]" in fields && { org_id: { ne: "acme" } }) } as Record<
            string,
            unknown
          >;
          delete nested["org_id[ne]"];
          const reply = isPost
            ? await post(server, target, nested, { key })
            : await sendRequest(server, `${target}?${query}`, { key, headers });
          if (reply.status === 304) {
            expect(taggedBy).toBe(org);
            unmodified++;
            return;
          }
          expect([reply.status, reply.text.slice(0, 200)]).toEqual([200, reply.text.slice(0, 200)]);
          const ids = idsOf(reply.text, format);
          expect(ids.filter((id) => id % 3 !== REMAINDER[org])).toEqual([]);
          rows += ids.length;
          if (!isPost && reply.headers.etag !== undefined) tags.set(tagKey, [org, reply.headers.etag]);
        }),
      );
    }),
    { numRuns: 40 },
  );
  expect(rows).toBeGreaterThan(5_000);
  expect(unmodified).toBeGreaterThan(5);
});

describe("tables, and parts of a result of more than 1,000 rows,", () => {
  const bytes = async (path: string, org: string, headers: Record<string, string> = {}): Promise<string> => {
    const answer = await sendRequest(urls[0] ?? "", `/v1/shop/${path}`, { key: `sk_live_${org}`, headers });
    return answer.bytes.toString("latin1");
  };

  it.each(["whole.parquet", "whole.arrow", "whole.arrows", "whole.csv", "pages.arrow?limit=1200"])(
    "hold the organization's own rows: %s",
    async (path) => {
      for (const headers of [{}, { range: "bytes=0-999999" }]) {
        const [acme = "", globex = "", none = ""] = await Promise.all(
          ["acme", "globex", "quote"].map((org) => bytes(path, org, headers)),
        );
        expect([acme.includes("acme"), acme.includes("globex")]).toEqual([true, false]);
        expect([globex.includes("acme"), globex.includes("globex")]).toEqual([false, true]);
        expect(none).not.toMatch(/acme|globex/);
      }
    },
  );
});
