/** What OpenAPI gives as the example of a parameter is answered with 200, for parameters of every operator and filters on every type. */
import { expect, it } from "vitest";
import { clickhouse } from "../../support/clickhouse.js";
import { query } from "../../support/database.js";
import { byEngine, engine, ownTables } from "../../support/engines.js";
import { post, sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { serveOrders } from "../../support/orders.js";
import { KEYS, serveManifest } from "../../support/service.js";
import { catalogueFrom } from "../../diff/catalogues.js";
import { SQUARE_TYPES } from "../../diff/oracle/square-types.js";

const key = KEYS.tier3;

interface Operation {
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: true;
    readonly example?: unknown;
  }[];
  readonly requestBody?: {
    readonly content: Record<string, { readonly schema: { readonly properties: Record<string, Field> } }>;
  };
}

interface Field {
  readonly examples?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Field>>;
}

/** What is sent beside each example: a value of a parameter that the endpoint asks for. */
type Needed = Readonly<Record<string, string>>;

/** Beside the example of a parameter that needs another one. */
const neededBy = (name: string): Needed => (name === "sort_direction" ? { sort_by: "id" } : {});

async function operationsOf(
  url: string,
): Promise<readonly (readonly [path: string, item: Record<string, Operation>])[]> {
  const { text } = await sendRequest(url, "/openapi.json", { key });
  const { paths } = JSON.parse(text) as { paths: Record<string, Record<string, Operation>> };
  return Object.entries(paths).filter(([path]) => path.startsWith("/v1/shop/"));
}

const textsOf = (example: unknown): readonly string[] => [example].flat().map(String);

/** Examples that are not answered, and how many there are. */
async function refused(
  url: string,
  needed: Needed = {},
): Promise<{ readonly count: number; readonly wrong: unknown[] }> {
  const wrong: unknown[] = [];
  let count = 0;
  const check = (status: number, text: string, ...sent: readonly unknown[]): void => {
    count += 1;
    if (status !== 200) wrong.push([...sent, status, text.slice(0, 200)]);
  };
  for (const [path, { get, post: posted }] of await operationsOf(url)) {
    for (const { name, example, ...rest } of get?.parameters ?? []) {
      if (example === undefined || rest.in !== "query") continue;
      const search = new URLSearchParams({ ...(name in needed ? {} : needed), ...neededBy(name) });
      for (const each of textsOf(example)) search.append(name, each);
      const { status, text } = await sendRequest(url, `${path}?${search.toString()}`, { key });
      check(status, text, path, name, example);
    }
    const fields = Object.entries(posted?.requestBody?.content["application/json"]?.schema.properties ?? {});
    for (const [name, field] of fields) {
      const bodies = [
        ...(field.examples ?? []).map((example) => ({ ...neededBy(name), [name]: example })),
        ...Object.entries(field.properties ?? {}).flatMap(([operator, { examples = [] }]) =>
          examples.map((example) => ({ [name]: { [operator]: example } })),
        ),
      ];
      for (const body of bodies) {
        const { status, text } = await post(url, path, { ...needed, ...body }, { key });
        check(status, text, path, body);
      }
    }
  }
  return { count, wrong };
}

it("by every operator, with pages and sorting", async () => {
  const { url } = await serveOrders();
  const { count, wrong } = await refused(url, { from: "2024-01-01" });
  expect(wrong).toEqual([]);
  expect(count).toBeGreaterThan(150);
});

it("by every type of the database", async () => {
  const schema = await ownTables({
    postgres: `CREATE EXTENSION IF NOT EXISTS citext; CREATE EXTENSION IF NOT EXISTS hstore;
      CREATE TYPE @.mood AS ENUM ('sad', 'ok'); CREATE DOMAIN @.small AS int CHECK (VALUE < 100); CREATE TYPE @.pair AS (a int, b text)`,
    clickhouse: [],
  });
  const all = Object.entries(SQUARE_TYPES[engine]);
  const models = [];
  for (const [i, [type, [text = ""]]] of all.entries()) {
    const own = type.replaceAll("@", `"${schema}"`);
    const quoted = text.startsWith("map(")
      ? text
      : `'${text.replaceAll("'", byEngine({ postgres: "''", clickhouse: "\\'" }))}'`;
    const made = `"${schema}"."t${String(i)}"`;
    if (engine === "clickhouse")
      await clickhouse(
        `CREATE TABLE ${made} ENGINE = MergeTree ORDER BY tuple() AS SELECT CAST(${quoted} AS ${own}) AS v`,
      );
    else await query(`CREATE TABLE ${made} AS SELECT ${quoted}::text::${own} AS v`);
    const model = { name: `t${String(i)}`, schema, columns: { v: type.replaceAll("@.", "") } };
    const parameters = [{ name: "p", column: "v", operator: "=", type: "string" }];
    const ways = [
      { ...model, api: { allow_unfiltered: true, methods: ["GET", "POST"], parameters } },
      {
        ...{
          ...model,
          name: `f${String(i)}`,
          alias: model.name,
          routewright: { filters: ["v"], filter: true },
        },
        api: { allow_unfiltered: true, methods: ["GET", "POST"] },
      },
    ];
    models.push(...ways.filter((way) => catalogueFrom(manifestOf([way])).entries.length > 0));
  }
  const url = await serveManifest(manifestOf(models));
  const { count, wrong } = await refused(url);
  expect(wrong).toEqual([]);
  expect(count).toBeGreaterThan(200);
});
