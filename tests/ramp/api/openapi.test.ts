/** Examples and error responses of the ramp's OpenAPI document. */
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { expect, it } from "vitest";
import { ROUTES } from "../../../runtime/ramp/api/all-routes.js";
import { openApiDocument } from "../../../runtime/ramp/api/openapi.js";
import { EVENT_TYPES } from "../../../runtime/ramp/webhooks/record-event.js";
import { newCustomer, ownWorld, type Reply } from "../support/world.js";

type Json = Record<string, unknown>;
interface Media {
  readonly schema: Json;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

const document = openApiDocument("https://ramp.example", ROUTES) as Json;
const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);
for (const format of ["iban", "aba-routing-number", "evm-address"]) ajv.addFormat(format, true);
ajv.addSchema(document, "api");

const pointerOf = (parts: readonly (string | number)[]): string =>
  parts.map((part) => encodeURIComponent(String(part).replaceAll("~", "~0").replaceAll("/", "~1"))).join("/");

/** Everything with a schema that examples belong to: media types and parameters, with its place in the document. */
function described(value: unknown, place: readonly (string | number)[] = []): [string, Media][] {
  if (Array.isArray(value)) return value.flatMap((item, at) => described(item, [...place, at]));
  if (typeof value !== "object" || value === null) return [];
  const own = "schema" in value && place.length > 2 ? ([[pointerOf(place), value as Media]] as const) : [];
  const inner = Object.entries(value).filter(([key]) => !["schema", "example", "examples"].includes(key));
  return [
    ...own.map(([at, media]): [string, Media] => [at, media]),
    ...inner.flatMap(([key, item]) => described(item, [...place, key])),
  ];
}

const places = [
  ...described(document["paths"], ["paths"]).filter(([at]) => !at.includes("/headers/")),
  ...described(document["webhooks"], ["webhooks"]),
];

const valuesOf = ({ example, examples }: Media): readonly unknown[] =>
  examples ? Object.values(examples).map(({ value }) => value) : [example];

it.each(places)("%s has examples that match its schema", (at, media) => {
  const validate = ajv.compile({ $ref: `api#/${at}/schema` });
  for (const value of valuesOf(media)) {
    expect(value).toBeDefined();
    expect(validate(value), JSON.stringify([value, validate.errors])).toBe(true);
  }
});

it("has an example of each request, answer, error and webhook", () => {
  const at = (...parts: string[]): boolean => places.some(([place]) => place.startsWith(pointerOf(parts)));
  for (const { method, path, body, rawBody, response } of ROUTES) {
    const operation = ["paths", path, method.toLowerCase()];
    if (body !== null || rawBody) expect(at(...operation, "requestBody")).toBe(true);
    if (response.schema !== null) expect(at(...operation, "responses", String(response.status))).toBe(true);
  }
  const errors = places.filter(([, { examples }]) => examples !== undefined);
  expect(errors.length).toBeGreaterThan(ROUTES.length);
  for (const [, { schema, examples = {} }] of errors) {
    const [, { properties }] = schema["allOf"] as [Json, { properties: { error: { enum: string[] } } }];
    expect(Object.keys(examples)).toEqual(properties.error.enum);
    for (const [code, { value }] of Object.entries(examples)) expect(value).toMatchObject({ error: code });
  }
  expect(places.filter(([place]) => place.startsWith("webhooks/"))).toHaveLength(EVENT_TYPES.length);
});

it("documents every error that bad parameters and bodies cause at any endpoint", async () => {
  const world = await ownWorld();
  const project = await world.project();
  const access = {
    project: project.basic,
    customer: await newCustomer(world, project),
    provider: undefined,
    public: undefined,
  };
  const paths = document["paths"] as Record<string, Record<string, { responses: Record<string, Json> }>>;
  const isDocumented = (path: string, method: string, { status, json }: Reply): boolean => {
    const response = paths[path]?.[method.toLowerCase()]?.responses[String(status)];
    const content = response?.["content"] as { "application/json": Media } | undefined;
    return content?.["application/json"].examples?.[String(json.error)] !== undefined;
  };
  for (const { access: kind, method, path } of ROUTES) {
    const auth = access[kind];
    const target = path.replace(/\{\w+\}/g, project.projectId);
    const given = { ...(auth === undefined ? {} : { auth }) };
    const twice = await world.call(method, `${target}?limit=1&limit=2`, given);
    expect([path, twice.json.error]).toEqual([path, "INVALID_REQUEST"]);
    expect(isDocumented(path, method, twice), `${method} ${path}`).toBe(true);
    if (method !== "POST") continue;
    const large = await world.call(method, target, { ...given, body: { x: "x".repeat(1_100_000) } });
    expect([path, large.json.error]).toEqual([path, "BODY_TOO_LARGE"]);
    expect(isDocumented(path, method, large), `${method} ${path}`).toBe(true);
  }
});
