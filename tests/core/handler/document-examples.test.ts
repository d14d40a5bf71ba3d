/** Every parameter of a served OpenAPI document has an example, and each example is answered with 200, in bodies too. */
import { expect, it } from "vitest";
import { starterManifest } from "../../end-to-end/starter.js";
import { postgresSales, salesModels } from "../../metrics/sales-tables.js";
import { post, sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, serveManifest } from "../../support/service.js";

interface Parameter {
  readonly name: string;
  readonly in: "query" | "header";
  readonly required?: true;
  readonly example?: unknown;
  readonly schema: { readonly items?: { readonly enum?: readonly string[] } };
}

/** Parameters that need others, which are sent with them where the operation has them. */
const NEEDED: Readonly<Record<string, readonly string[]>> = {
  sort_by: ["group_by"],
  sort_direction: ["sort_by", "group_by"],
  top: ["sort_by", "group_by"],
  other: ["top", "sort_by", "group_by"],
  totals: ["group_by"],
  compare: ["start_date", "end_date", "measures"],
  path: ["column"],
  prefix: ["column"],
  limit: ["column", "measures"],
  offset: ["measures"],
  cursor: ["measures"],
};

/** The parameter that an operation asks for where any of several will do. */
const NEEDS_ONE = /At least one of these parameters is required: `([^`]+)`/;

/** Events come until the client leaves, and are tested in tests/server/events. */
const WITHOUT_END = "/v1/system/events";

const key = KEYS.tier3;

const TYPES = { region: "text", product: "text", day: "date", amount: "bigint", buyer: "text", org: "text" };

interface Operation {
  readonly description?: string;
  readonly parameters: readonly Parameter[];
}

/** What a GET of the document's is answered with, per example: of all its required parameters, and of an optional one. */
async function answers(
  url: string,
): Promise<{ readonly missing: string[]; readonly wrong: unknown[]; readonly sent: string[] }> {
  const { text } = await sendRequest(url, "/openapi.json", { key });
  const { paths } = JSON.parse(text) as {
    paths: Record<string, Record<string, Partial<Operation>>>;
  };
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, { parameters = [], ...rest }]) => ({
      ...rest,
      path,
      method,
      parameters,
    })),
  );
  const missing = operations.flatMap(({ path, method, parameters }) =>
    parameters.filter(({ example }) => example === undefined).map(({ name }) => `${method} ${path} ${name}`),
  );
  const [sent, wrong]: [string[], unknown[]] = [[], []];
  for (const operation of operations) {
    const { path, method, parameters } = operation;
    if (method !== "get" || path === WITHOUT_END || parameters.length === 0) continue;
    for (const chosen of requestsOf(operation)) {
      const { address, headers } = requestOf(path, chosen);
      const { status, text: body } = await sendRequest(url, address, { key, headers });
      sent.push(address);
      if (status !== 200) wrong.push([address, headers, status, body.slice(0, 200)]);
    }
  }
  return { missing, wrong, sent };
}

function requestsOf({ parameters, description = "" }: Operation): readonly (readonly Parameter[])[] {
  const [, filter] = NEEDS_ONE.exec(description) ?? [];
  const always = parameters.filter(({ name, required }) => required === true || name === filter);
  const optional = parameters.filter((each) => !always.includes(each));
  const besides = (sent: readonly Parameter[]) =>
    optional.filter(({ name }) => sent.some((each) => NEEDED[each.name]?.includes(name)));
  return [
    ...(always.length === 0 ? [] : [[...always, ...besides(always)]]),
    ...optional.map((each) => [
      ...new Set([...always, each, ...besides([each]), ...measureOf(each, optional)]),
    ]),
  ];
}

/** A condition on a result asks for the measure. */
function measureOf({ name }: Parameter, parameters: readonly Parameter[]): readonly Parameter[] {
  const measure = name.replace(/\[\w+\]$/, "");
  return parameters
    .filter(({ schema }) => name.includes("[") && schema.items?.enum?.includes(measure))
    .filter((each) => each.name === "measures" || each.name === "metrics")
    .map((each) => ({ ...each, example: measure }));
}

function requestOf(path: string, parameters: readonly Parameter[]) {
  const search = new URLSearchParams();
  const headers: Record<string, string> = {};
  for (const { name, example, ...rest } of parameters) {
    if (rest.in === "header") headers[name] = String(example);
    else for (const each of [example].flat()) search.append(name, String(each));
  }
  return { address: `${path}?${search.toString()}`, headers };
}

it("of the starter project", async () => {
  const { missing, wrong, sent } = await answers(await serveManifest(starterManifest()));
  expect({ missing, wrong }).toEqual({ missing: [], wrong: [] });
  expect(sent.length).toBeGreaterThan(80);
});

interface Property {
  readonly examples?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Property>>;
  readonly items?: { readonly enum?: readonly string[] };
}

/** Fields of a body in the form of parameters: one for each operator of a column. */
function fieldsOf(properties: Readonly<Record<string, Property>>): readonly Parameter[] {
  return Object.entries(properties).flatMap(([name, { examples, properties: operators = {}, ...schema }]) => [
    ...(examples ?? []).map((example) => ({ name, in: "query" as const, example, schema })),
    ...Object.entries(operators).map(([operator, { examples: values = [] }]) => ({
      ...{ name: `${name}[${operator}]`, in: "query" as const, schema },
      example: { [operator]: values[0] },
    })),
  ]);
}

it("of the bodies of groups and measures", async () => {
  const url = await serveManifest(manifestOf(salesModels(await postgresSales(), TYPES)));
  const { text } = await sendRequest(url, "/openapi.json", { key });
  const { paths } = JSON.parse(text) as {
    paths: Record<
      string,
      {
        post: Operation & {
          requestBody: { content: Record<string, { schema: { properties: Record<string, Property> } }> };
        };
      }
    >;
  };
  const path = "/v1/shop/sales";
  const { description = "", requestBody } = paths[path]!.post;
  const parameters = fieldsOf(requestBody.content["application/json"]!.schema.properties);
  const wrong: unknown[] = [];
  for (const sent of requestsOf({ description, parameters })) {
    const values = sent.map(({ name, example }) => {
      const isList = name === "measures" && !Array.isArray(example);
      return [name.replace(/\[\w+\]$/, ""), isList ? [example] : example] as const;
    });
    const body = Object.fromEntries(values);
    const { status, text: answer } = await post(url, path, body, { key });
    if (status !== 200) wrong.push([body, status, answer]);
  }
  expect(wrong).toEqual([]);
  expect(parameters.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["top", "cursor", "revenue[gt]", "last_day[gt]"]),
  );
});

it("of groups and measures, with conditions on results and all options", async () => {
  const url = await serveManifest(manifestOf(salesModels(await postgresSales(), TYPES)));
  const { missing, wrong, sent } = await answers(url);
  expect({ missing, wrong }).toEqual({ missing: [], wrong: [] });
  for (const name of ["top", "other", "totals", "compare", "filter", "revenue[gt]", "cursor"])
    expect(sent.filter((address) => new URL(address, url).searchParams.has(name))).not.toEqual([]);
});
