/** Forms of providers: those that the hosted page draws, field by field, and those that are no valid answer. */
import { describe, expect, it } from "vitest";
import { FIELD_KINDS } from "../../../runtime/ramp/providers/form.js";
import { ownCards } from "../support/card-provider.js";
import { eventually, ownWorld, type Reply } from "../support/world.js";

const world = await ownWorld();

async function begin(form: Readonly<Record<string, unknown>>) {
  const check = { code: "KYC", title: "Check", status: "PENDING", failureReason: null, form } as const;
  const setting = await ownCards(world, { requirements: [check] });
  const { json, status, text } = await setting.create({ autoExecute: false });
  expect(status, text).toBe(201);
  return { ...setting, id: String(json.intent.id), path: new URL(String(json.onboardingUrl)).pathname };
}

const formOf = (
  properties: Readonly<Record<string, unknown>>,
  required: readonly string[] = Object.keys(properties),
) => ({ type: "object", properties, required });

const submit = (path: string, fields: Readonly<Record<string, string>>): Promise<Reply> =>
  world.call("POST", path, {
    text: new URLSearchParams({
      action: "submit",
      requirement: "KYC",
      ...Object.fromEntries(Object.entries(fields).map(([name, value]) => [`field.${name}`, value])),
    }).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded" },
  });

/** The names of the fields, as they stand on the page. */
const namesOn = ({ text }: Reply): readonly string[] => [
  ...new Set([...text.matchAll(/name="field\.([^"]+)"/g)].map(([, name = ""]) => name)),
];

const FIELDS: Readonly<Record<string, unknown>> = {
  zeta: { type: "string", title: "Zeta", pattern: "^\\+[0-9]+$", examples: ["+4930"] },
  exposed: { type: "boolean", title: "Politically exposed" },
  terms: { const: true, title: "I accept the terms" },
  alpha: { type: "string", format: "date", title: "Alpha" },
  middle: { type: ["string", "null"], title: "Middle name" },
  count: { enum: [1, 2] },
  country: {
    oneOf: [
      { const: "DE", title: "Germany" },
      { const: "FR", title: "France" },
    ],
  },
  email: { type: "string", format: "email" },
  site: { type: "string", format: "uri" },
  phone: { type: "string", format: "phone" },
  income: { type: "number" },
  age: { type: "integer", minimum: 18 },
};

describe("a form that can be drawn", () => {
  it("has every kind of field, in the provider's order", async () => {
    const kinds = Object.values(FIELDS).flatMap((field) => {
      const { format, type } = field as { format?: string; type?: string | string[] };
      return [format ?? [type].flat()[0] ?? ""];
    });
    expect(Object.keys(FIELD_KINDS).filter((kind) => !kinds.includes(kind))).toEqual([]);
    const { path } = await begin(formOf(FIELDS, ["age", "exposed", "terms", "middle", "zeta", "alpha"]));
    expect(namesOn(await world.call("GET", path))).toEqual(Object.keys(FIELDS));
  });

  it("passes on what was entered: no, a number of a choice, and null for an empty field that may be", async () => {
    const { path, provider } = await begin(formOf(FIELDS, ["exposed", "terms", "middle", "count", "age"]));
    const filled = { exposed: "false", terms: "yes", count: "2", age: "42" };
    const answer = await submit(path, filled);
    expect(answer.status, answer.text).toBe(303);
    expect(provider.submitted.map((text) => JSON.parse(text) as unknown)).toEqual([
      { fields: { exposed: false, terms: true, middle: null, count: 2, age: 42 } },
    ]);
  });

  it("asks for an answer of a boolean, and for consent, by the field", async () => {
    const { path, provider } = await begin(formOf({ exposed: FIELDS["exposed"], terms: FIELDS["terms"] }));
    const { status, text } = await submit(path, {});
    expect(status).toBe(422);
    expect(text).toContain("Choose: Politically exposed.");
    expect(text).toContain("Choose: I accept the terms.");
    expect(provider.submitted).toEqual([]);
  });

  it("says what is wrong in words, without patterns", async () => {
    const { path } = await begin(formOf(FIELDS, []));
    const wrong = { zeta: "030", email: "me", site: "x", country: "XX", age: "17", alpha: "1.1.1990" };
    const { status, text } = await submit(path, wrong);
    expect(status).toBe(422);
    for (const words of [
      "Zeta is not written as it must be, such as +4930.",
      "Email must be an email address such as name@example.com.",
      "Site must be an address such as https://example.com.",
      "Country must be one of the choices.",
      "Age must be at least 18.",
      "Alpha must be a date such as 1990-12-31.",
    ])
      expect(text).toContain(words);
    expect(text).not.toContain("pattern");
  });
});

const one = (schema: unknown) => formOf({ wrong: schema });

/** What is no form, and where. */
const UNDRAWN: readonly (readonly [string, Readonly<Record<string, unknown>>, string])[] = [
  ["an object in a field", one({ type: "object", properties: {} }), "/properties/wrong must be one"],
  ["a list", one({ type: "array", items: { type: "string" } }), "/properties/wrong must be one"],
  ["a list that is optional", formOf({ list: { type: "array" } }, []), "/properties/list must be one"],
  ["a field without a type", one({ title: "Name" }), "/properties/wrong must be one"],
  ["a type that is none", one({ type: "strin" }), "/properties/wrong must be one"],
  ["two types", one({ type: ["string", "integer"] }), "/properties/wrong must be one"],
  ["a reference", one({ $ref: "#/$defs/name" }), "/properties/wrong must be one"],
  ["choices of objects", one({ enum: [{ a: 1 }] }), "/properties/wrong must be one"],
  ["alternatives that are no values", one({ anyOf: [{ type: "string" }] }), "/properties/wrong must be one"],
  ["two choices that read the same", one({ enum: ["1", 1] }), "/properties/wrong must be one"],
  [
    "a condition on a field",
    one({ type: "string", not: { const: "x" } }),
    "/properties/wrong has the keyword not",
  ],
  ["a schema that is true", one(true), "/properties/wrong must be the schema"],
  ["a length that is no number", one({ type: "string", minLength: "x" }), "is no JSON Schema"],
  ["a required field that is none", formOf({ name: { type: "string" } }, ["ssn"]), "/required names ssn"],
  ["no fields", { type: "object" }, "/properties must have at least one field"],
  ["a list of fields", { fields: ["name"] }, "/properties must have at least one field"],
  ["another type", { type: "array", properties: { a: { type: "string" } } }, "/type must be object"],
  ["a condition across fields", { ...one({ type: "string" }), if: {}, then: {} }, "/if is not drawn"],
];

describe("a form that cannot be drawn", () => {
  it.each(UNDRAWN)("is an invalid answer that names the field: %s", async (_name, form, problem) => {
    const check = { code: "KYC", title: "Check", status: "PENDING", failureReason: null, form } as const;
    const { create, project } = await ownCards(world, { requirements: [check] });
    const { json } = await create({ autoExecute: false });
    const read = () => world.call("GET", `/v1/intents/${String(json.intent.id)}`, { auth: project.basic });
    const held = await eventually(read, (reply) => reply.json.attention !== undefined);
    expect((held.json.attention as Record<string, string>)["INVALID_ANSWER"]).toContain(
      `/requirements/0/form${problem.startsWith("/") ? "" : " "}${problem}`,
    );
  });
});
