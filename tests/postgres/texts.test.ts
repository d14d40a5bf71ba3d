import { describe, expect, it } from "vitest";
import { ownDatabase, ownSchema, query, queryAt } from "../support/database.js";
import { post, sendRequest } from "../support/http-client.js";
import { manifestOf } from "../support/manifest.js";
import { KEYS, serveManifest } from "../support/service.js";

const parameters = [
  { name: "name", column: "name", operator: "=", type: "string" },
  { name: "some", column: "name", operator: "IN", type: "string_list" },
  { name: "like", column: "name", operator: "ILIKE", type: "string" },
  { name: "lower", column: "name", operator: "=", type: "string", case: "lower" },
  { name: "lowers", column: "name", operator: "IN", type: "string_list", case: "lower" },
];
const sort = [{ column: "id", direction: "ASC" }];
const model = (schema: string, name: string) => ({
  ...{ name, schema, columns: { id: "int", name: "text" }, tags: ["production", "texts", `api:${name}`] },
  api: { allow_unfiltered: true, methods: ["GET", "POST"], parameters, sort },
  routewright: { filters: ["name"] },
});

const idsAt =
  (url: string, name: string) =>
  async (filter: string): Promise<unknown> => {
    const { status, text } = await sendRequest(url, `/v1/texts/${name}?${encodeURI(filter)}`, {
      key: KEYS.tier3,
    });
    return status === 200 ? (JSON.parse(text) as { id: number }[]).map(({ id }) => id) : [status, text];
  };

describe("a database in LATIN1", async () => {
  const name = new URL(await ownDatabase()).pathname.slice(1);
  await query(`DROP DATABASE ${name}`);
  await query(`CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'LATIN1' LOCALE_PROVIDER libc LOCALE 'C'`);
  const database = Object.assign(new URL(process.env["TEST_DATABASE_URL"] ?? ""), {
    pathname: `/${name}`,
  }).href;
  await queryAt(
    database,
    "CREATE TABLE latin (id int, name text); INSERT INTO latin VALUES (1, 'é'), (2, 'e'), (3, NULL)",
  );
  const url = await serveManifest(manifestOf([model("public", "latin")]), { DATABASE_URL: database });
  const ids = idsAt(url, "latin");

  it("has no row with a character that it cannot hold", async () => {
    for (const filter of [
      "name=€",
      "some=€",
      "some=€,日本",
      "like=€",
      "like=€%",
      "lower=€",
      "lowers=€",
      "name[eq]=€",
    ])
      expect([filter, await ids(filter)]).toEqual([filter, []]);
    for (const operator of ["gt", "gte", "lt", "lte", "in"])
      expect([operator, await ids(`name[${operator}]=€`)]).toEqual([operator, []]);
    expect(await ids("name[ne]=€")).toEqual([1, 2]);
  });

  it("finds the others of a list, and those that it holds", async () => {
    expect(await ids("some=€,é,日,e")).toEqual([1, 2]);
    expect(await ids("name=é")).toEqual([1]);
    expect(await ids("lowers=€,É,E")).toEqual([2]);
    const body = { name: { in: ["ł", "é"] } };
    expect(JSON.parse((await post(url, "/v1/texts/latin", body, { key: KEYS.tier3 })).text)).toMatchObject([
      { id: 1 },
    ]);
    const { headers } = await sendRequest(url, `/v1/texts/latin?${encodeURI("name[ne]=☃")}`, {
      key: KEYS.tier3,
      headers: { Prefer: "count=exact" },
    });
    expect(headers["x-total-count"]).toBe("2");
  });
});

it("a column with a nondeterministic collation takes every filter", async () => {
  const schema = await ownSchema(`
    CREATE COLLATION @.any_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
    CREATE TABLE @.loose (id int, name text COLLATE @.any_case);
    INSERT INTO @.loose VALUES (1, 'Plum'), (2, 'PLUM'), (3, 'pear')`);
  const ids = idsAt(await serveManifest(manifestOf([model(schema, "loose")])), "loose");
  expect(await ids("name=plum")).toEqual([1, 2]);
  expect(await ids("some=plum,x")).toEqual([1, 2]);
  expect(await ids("like=lu")).toEqual([1, 2]);
  expect(await ids("like=P%")).toEqual([1, 2, 3]);
  expect(await ids("lower=plum")).toEqual([1, 2]);
  expect(await ids("name[ne]=PLUM")).toEqual([3]);
  expect(await ids("name[gt]=pear")).toEqual([1, 2]);
});
