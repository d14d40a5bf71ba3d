import { describe, expect, it } from "vitest";
import { byEngine, ownerQuery } from "../../support/engines.js";
import { type Reply, sendRequest } from "../../support/http-client.js";
import { columns, serveOrdersWithValues } from "./orders-with-values.js";

const { url, schema } = await serveOrdersWithValues();

const ask = (query: string, key?: string): Promise<Reply> =>
  sendRequest(url, `/v1/system/values?${query}`, key === undefined ? {} : { key: `sk_live_${key}` });

function compared(a: unknown, b: unknown): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  const [one, other] = [String(a), String(b)];
  return one < other ? -1 : one > other ? 1 : 0;
}

/** Values with their numbers of rows, then `more` where there are others; a refusal as a text. */
async function values(query: string, key?: string): Promise<unknown> {
  const { status, text } = await ask(query, key);
  if (status !== 200) return `${String(status)} ${text}`;
  const answer = JSON.parse(text) as { values: { value: unknown; rows?: number }[]; more: boolean };
  const counts = answer.values.map(({ rows = 0 }) => rows);
  expect(counts).toEqual(counts.toSorted((a, b) => b - a));
  // Engines and collations differ in the order of texts.
  const sorted = answer.values.toSorted((a, b) => compared(b.rows, a.rows) || compared(a.value, b.value));
  return [...sorted.map(({ value, rows }) => [value, rows]), ...(answer.more ? ["more"] : [])];
}
const of = (path: string, column: string, more = ""): string =>
  `path=/v1/shop/${path}&column=${column}${more}`;

describe("the values of a column", () => {
  it("are those of its rows, the most frequent first, null among them", async () => {
    expect(await values(of("orders", "country"))).toEqual([
      ["DE", 52],
      [null, 4],
      ["D%", 2],
      ["D_", 2],
      ["FR", 2],
      ["AT", 1],
      ["de", 1],
    ]);
  });

  it("are what a filter takes and finds: as rows have them, numbers of many digits as texts", async () => {
    expect(await values(of("orders", "paid"))).toEqual([
      [false, 32],
      [true, 32],
    ]);
    expect(await values(of("orders", "amount"))).toEqual([
      [byEngine({ postgres: 12.3, clickhouse: 12.3 }), 64],
    ]);
    expect(await values(of("orders", "huge"))).toEqual([["18446744073709551615", 64]]);
    expect(await values(of("orders", "at"))).toEqual([
      ["2026-01-01T10:00:00Z", 32],
      ["2026-01-01T10:01:00Z", 32],
    ]);
    // What JSON has as null is one value.
    expect(await values(of("orders", "ratio"))).toEqual([
      [null, 42],
      [1.5, 22],
    ]);
  });

  it("are as many as asked, and say where there are more", async () => {
    expect(await values(of("orders", "id", "&limit=2"))).toEqual([[1, 1], [2, 1], "more"]);
    expect(await values(of("orders", "day", "&limit=3"))).toEqual([
      ["2026-01-02", 22],
      ["2026-01-01", 21],
      ["2026-01-03", 21],
    ]);
    expect(await values(of("orders", "id", "&limit=0"))).toBe(`400 {"detail":"'limit' must be >= 1."}`);
    expect(await values(of("orders", "id", "&limit=1001"))).toBe(`400 {"detail":"'limit' must be <= 1000."}`);
  });

  it("begin with a prefix in any letter case, of which no character is a wildcard", async () => {
    expect(await values(of("orders", "country", "&prefix=d"))).toEqual([
      ["DE", 52],
      ["D%", 2],
      ["D_", 2],
      ["de", 1],
    ]);
    for (const sign of ["%25", "_"])
      expect(await values(of("orders", "country", `&prefix=d${sign}`))).toHaveLength(1);
    expect(await values(of("orders", "country", "&prefix=E"))).toEqual([]);
    expect(await values(of("orders", "country", "&prefix=%5C"))).toEqual([]);
    expect(await values(of("orders", "country", `&prefix=${"x".repeat(1001)}`))).toBe(
      `400 {"detail":"Parameter 'prefix' allows at most 1000 characters."}`,
    );
    expect(await values(of("orders", "id", "&prefix=6"))).toEqual([
      [6, 1],
      [60, 1],
      [61, 1],
      [62, 1],
      [63, 1],
      [64, 1],
    ]);
  });

  it("of long texts: those that a filter takes, up to a size", async () => {
    expect(await values(of("orders", "note"))).toEqual([["x", 21], ["xx", 21], ["xxx", 21], "more"]);
    const long = (await values(of("orders", "long", "&limit=1000"))) as unknown[];
    expect(long.at(-1)).toBe("more");
    expect(long.length).toBeGreaterThan(30);
  });

  it("are of the rows that the endpoint's filters select, where it requires one too", async () => {
    expect(await values(of("orders", "country", "&id[lte]=3"))).toEqual([["DE", 3]]);
    expect(await values(of("orders", "paid", "&country[in]=AT,FR&day[gte]=2026-01-01"))).toEqual([
      [false, 2],
      [true, 1],
    ]);
    const required = `400 {"detail":"At least one business filter is required for this endpoint."}`;
    for (const more of ["", "&limit=1", "&prefix=D", "&country[ne]=DE"])
      expect([more, await values(of("filtered", "country", more))]).toEqual([more, required]);
    expect(await values(of("filtered", "country", "&country[eq]=AT"))).toEqual([["AT", 1]]);
    expect(await values(of("any", "country"))).toBe(
      `400 {"detail":"At least one of [since] is required for this endpoint."}`,
    );
    expect(await values(of("any", "day", "&since=2026-01-03"))).toEqual([["2026-01-03", 21]]);
    for (const name of ["fields", "sort_by", "offset", "cursor", "group_by", "measures", "nothing"])
      expect(await values(of("orders", "id", `&${name}=id`))).toBe(
        `400 {"detail":"Unsupported query parameters: ${name}"}`,
      );
    expect(await values(of("orders", "id", "&=id"))).toBe(
      `400 {"detail":"Unsupported query parameters: ''"}`,
    );
    expect(await values(of("orders", "id", "&id[gt]=x"))).toBe(
      `400 {"detail":"Parameter 'id[gt]' must be an integer."}`,
    );
  });

  it("of an endpoint without rows: those of its groups", async () => {
    expect(await values(of("grouped", "country", "&id[lte]=54"))).toEqual([
      ["D%", undefined],
      ["DE", undefined],
      ["D_", undefined],
      ["FR", undefined],
    ]);
    expect(await values(of("grouped", "day__month"))).toEqual([["2026-01-01", undefined]]);
    expect(await values(of("grouped", "org"))).toBe(
      `400 {"detail":"'column' must be among: country, day, day__month."}`,
    );
  });

  it("where the relation has another letter case", async () => {
    expect(await values(of("folded", "country", "&country[eq]=AT"), "acme")).toEqual([["AT", 1]]);
  });
});

describe("nobody gets values that are not theirs", () => {
  it("of another organization, also from the cache", async () => {
    for (const round of [1, 2])
      expect([
        round,
        await values(of("own", "org"), "acme"),
        await values(of("own", "org"), "globex"),
      ]).toEqual([round, [["acme", 32]], [["globex", 32]]]);
    expect(await values(of("own", "org"), "all")).toEqual([
      ["acme", 32],
      ["globex", 32],
    ]);
    expect(await values(of("own", "org"))).toContain("Send the key of an organization.");
    expect(await values(of("own", "org", "&org[eq]=globex"), "acme")).toEqual([]);
    expect(await values(of("folded", "org"), "acme")).toEqual([["acme", 32]]);
    expect(await values(of("mixed", "country"), "acme")).toEqual(await values(of("own", "country"), "acme"));
  });

  it("of private columns and models, of columns that no row has, and of types that no filter compares", async () => {
    const names = Object.keys(columns).filter((name) => name !== "email");
    for (const column of ["email", "EMAIL", "nothing", "", "__proto__", "id%00", "id%22%20--"])
      expect([column, await values(of("orders", column))]).toEqual([
        column,
        column === ""
          ? `400 {"detail":"Parameter 'column' is required."}`
          : `400 {"detail":"'column' must be among: ${names.join(", ")}."}`,
      ]);
    expect(await values(of("hidden", "country"))).toBe(`400 {"detail":"'column' must be among: none."}`);
    expect(await values(of("undeclared", "country"))).toBe(`400 {"detail":"'column' must be among: none."}`);
    for (const column of ["tags", "doc"])
      expect(await values(of("orders", column))).toBe(
        `400 {"detail":"Parameter 'column' cannot be used: values of its column cannot be compared like this."}`,
      );
  });

  it("of endpoints that their key may not call, by whatever spelling of the path", async () => {
    expect(await values(of("locked", "country"))).toBe(
      `403 {"detail":"Missing authentication header: X-API-Key"}`,
    );
    expect(await values(of("locked", "country"), "acme")).toContain("requires tier1 access");
    expect(await values(of("locked", "country", "&limit=1"), "all")).toHaveLength(2);
    expect(await values(of("locked", "country"), "nobody")).toContain("Invalid API Key");
    expect(await values(of("orders", "country"), "listed")).toContain("may not call /v1/shop/orders");
    expect(await values(of("moved", "country"), "listed")).toContain("may not call /v1/shop/moved");
    expect(await values(of("before", "country", "&limit=1"), "listed")).toEqual([["DE", 52], "more"]);
    for (const path of [
      "/v1/shop//locked",
      "/v1/shop/./locked",
      "/v1/shop/%256cocked",
      "/v1/shop/locked.csv",
      "/v1/shop/locked?x",
      "//v1/shop/locked",
      "/V1/shop/locked",
      "/v1/system/values",
      "/health",
      "__proto__",
      "",
    ])
      expect([path, (await ask(`path=${path}&column=country`)).status]).toEqual([
        path,
        path === "" ? 400 : 404,
      ]);
    expect((await ask("path=/v1/shop/orders&path=/v1/shop/locked&column=country")).status).toBe(400);
    expect((await ask("path=/v1/shop/orders&column=country&column=email")).status).toBe(400);
  });

  it("is counted, is not kept by caches, and takes no other method", async () => {
    const first = await ask(of("orders", "paid"), "counted");
    const second = await ask(of("orders", "paid"), "counted");
    const left = ({ headers }: Reply) => Number(headers["x-ratelimit-remaining"]);
    expect(left(first) - left(second)).toBe(1);
    expect(first.headers["cache-control"]).toBe("no-store");
    expect((await sendRequest(url, "/v1/system/values", { method: "POST" })).status).toBe(405);
  });
});

it("values are kept for a minute, for all callers of an organization", async () => {
  const before = await values(of("orders", "id", "&limit=1000&id[gt]=60"));
  await ownerQuery(
    byEngine({
      postgres: `INSERT INTO ${schema}.orders (id) VALUES (99)`,
      clickhouse: `INSERT INTO ${schema}.orders (id) VALUES (99)`,
    }),
  );
  for (const key of [undefined, "acme", "globex"])
    expect(await values(of("orders", "id", "&limit=1000&id[gt]=60"), key)).toEqual(before);
  expect(await values(of("orders", "id", "&limit=1000&id[gt]=61"))).toContainEqual([99, 1]);
});
