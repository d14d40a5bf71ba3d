/** Every operation of a served OpenAPI document answers with a status and headers that it documents, and asks for a key where it says so. */
import { expect, it } from "vitest";
import { starterManifest } from "../../end-to-end/starter.js";
import { postgresSales, salesModels } from "../../metrics/sales-tables.js";
import { post, sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { serveOrders } from "../../support/orders.js";
import { KEYS, serveManifest } from "../../support/service.js";

interface Described {
  readonly $ref?: string;
  readonly headers?: Readonly<Record<string, unknown>>;
}

interface Operation {
  readonly security: readonly object[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: "query" | "header";
    readonly required?: true;
    readonly example?: unknown;
  }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: unknown }>> };
  readonly responses: Readonly<Record<string, Described>>;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly responses: Readonly<Record<string, Described>> };
}

/** Of HTTP itself, and of browsers. */
const COMMON =
  /^(?:date|connection|keep-alive|transfer-encoding|accept-ranges|content-(?:type|length|encoding|language|disposition|security-policy)|cache-control|vary|access-control-.*|x-content-type-options|x-frame-options|referrer-policy|permissions-policy|cross-origin-.*)$/;

/** Events come until the client leaves, and are tested in tests/server/events. */
const WITHOUT_END = "/v1/system/events";

const documentOf = async (url: string): Promise<Document> =>
  JSON.parse((await sendRequest(url, "/openapi.json", { key: KEYS.tier3 })).text) as Document;

const bodyOf = ({ requestBody }: Operation): unknown => requestBody?.content["application/json"]?.example;

function requestOf(method: string, { parameters = [], ...operation }: Operation) {
  const search = new URLSearchParams();
  const headers: Record<string, string> = {};
  for (const { name, in: place, required, example } of parameters)
    if (place === "header") headers[name] = String(example);
    else if (required === true || name === "column") search.append(name, String(example));
  const body = bodyOf(operation);
  return {
    query: search.toString(),
    options: {
      method: method.toUpperCase(),
      headers: { ...headers, ...(body !== undefined && { "Content-Type": "application/json" }) },
      ...(body !== undefined && { body }),
    },
  };
}

/** What an answer has that its operation does not document. */
function undocumented(
  { components }: Document,
  { responses }: Operation,
  { status, headers }: Awaited<ReturnType<typeof sendRequest>>,
): readonly string[] {
  const said = responses[String(status)];
  if (said === undefined) return [`status ${String(status)}`];
  const named = said.$ref === undefined ? said : components.responses[said.$ref.split("/").at(-1) ?? ""];
  const known = new Set(Object.keys(named?.headers ?? {}).map((name) => name.toLowerCase()));
  return Object.keys(headers).filter((name) => !COMMON.test(name) && !known.has(name));
}

it("the starter's operations answer as they are documented, and ask for a key where they say so", async () => {
  const url = await serveManifest(starterManifest());
  const document = await documentOf(url);
  const wrong: unknown[] = [];
  let count = 0;
  for (const [path, item] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(item)) {
      const { query, options } = requestOf(method, operation);
      const needsKey = !operation.security.some((each) => Object.keys(each).length === 0);
      const requests = [
        [undefined, query],
        [KEYS.tier3, query],
        [KEYS.tier3, "no_such_parameter=1"],
        ["sk_live_unknown", query],
      ] as const;
      for (const [key, search] of requests) {
        if (path === WITHOUT_END && search === query) continue;
        const reply = await sendRequest(url, `${path}?${search}`, { ...options, ...(key && { key }) });
        const others = undocumented(document, operation, reply);
        const isRefused = reply.status === 403;
        if (others.length > 0 || (key === undefined && isRefused !== needsKey))
          wrong.push([method, path, key, search, reply.status, others, { needsKey }]);
        count += 1;
      }
    }
  expect(wrong).toEqual([]);
  expect(count).toBeGreaterThan(150);
});

const TYPES = { region: "text", product: "text", day: "date", amount: "bigint", buyer: "text", org: "text" };

it("every example of a whole body is answered with 200", async () => {
  const urls = [
    await serveManifest(starterManifest()),
    (await serveOrders()).url,
    await serveManifest(manifestOf(salesModels(await postgresSales(), TYPES))),
  ];
  const answers: unknown[] = [];
  for (const url of urls)
    for (const [path, { post: operation }] of Object.entries((await documentOf(url)).paths)) {
      if (operation === undefined || path.startsWith("/v1/system/")) continue;
      const body = bodyOf(operation);
      const { status, text } = await post(url, path, body, { key: KEYS.tier3 });
      answers.push(body !== undefined && status === 200 ? 200 : [path, body, status, text]);
    }
  expect(answers.filter((each) => each !== 200)).toEqual([]);
  expect(answers.length).toBeGreaterThan(4);
});
