/** The document is enough to integrate: it shows every request, every answer and every event, as they are. */
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { expect, it } from "vitest";
import { EVENT_TYPES } from "../../../runtime/ramp/webhooks/events.js";
import { ownReceiver } from "../support/receiver.js";
import { newCustomer, onramp, ownWorld, reached } from "../support/world.js";

const world = await ownWorld();
await world.sandbox.set({ settleMs: 20 });

interface Content {
  readonly schema: object;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

interface Operation {
  readonly tags: readonly string[];
  readonly parameters?: readonly (Content & { readonly name: string })[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, Content>> }>>;
}

const document = (await world.call("GET", "/openapi.json")).json as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly webhooks: Readonly<Record<string, { readonly post: Required<Pick<Operation, "requestBody">> }>>;
};
const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);
ajv.addSchema(document, "api");

/** What is wrong with a value, by a schema of the document; empty: nothing. */
function problems(schema: object, value: unknown): string {
  const inDocument = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/')) as object;
  const validate = ajv.compile(inDocument);
  return validate(value) ? "" : JSON.stringify(validate.errors);
}

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => [`${method} ${path}`, operation] as const),
);

it("describes each group of operations, in their order", () => {
  const used = operations.flatMap(([, { tags }]) => tags);
  expect(document.tags.map(({ name }) => name)).toEqual([...new Set(used)]);
  for (const { description } of document.tags) expect(description).toMatch(/\.$/);
});

it.each(operations)("%s has a valid example of each parameter, request and answer", (_, operation) => {
  for (const { schema, example, name } of operation.parameters ?? []) {
    if ("enum" in schema) continue;
    expect(example, name).toBeDefined();
    expect(problems(schema, example), name).toBe("");
  }
  const answers = Object.values(operation.responses).flatMap(({ content = {} }) => Object.values(content));
  for (const { schema, example, examples = {} } of [
    ...Object.values(operation.requestBody?.content ?? {}),
    ...answers,
  ]) {
    const shown = [
      ...(example === undefined ? [] : [example]),
      ...Object.values(examples).map(({ value }) => value),
    ];
    expect(shown.length).toBeGreaterThan(0);
    for (const value of shown) expect(problems(schema, value), JSON.stringify(value)).toBe("");
  }
});

const contentOf = (type: string): Content => {
  const { post } = document.webhooks[type] ?? {};
  const content = post?.requestBody.content["application/json"];
  if (content === undefined) throw new Error(`${type} has no schema.`);
  return content;
};

it("describes every event, with a valid example", () => {
  expect(Object.keys(document.webhooks)).toEqual(EVENT_TYPES);
  for (const type of EVENT_TYPES) {
    const { schema, example } = contentOf(type);
    expect(problems(schema, example), type).toBe("");
  }
});

it("describes the events that are sent", async () => {
  const [project, receiver] = [await world.project(), await ownReceiver()];
  const { webhookId } = await world.webhook(project, receiver.url);
  const auth = await newCustomer(world, project);
  const body = onramp({ autoExecute: true, metadata: { order: "A-1" } });
  const { json } = await world.call("POST", "/v1/intent", { auth, body });
  await reached(world, `/v1/intent/${String(json.intent.id)}`, { auth }, "COMPLETED");
  const basic = { auth: project.basic };
  await world.call("POST", `/v1/intents/${String(json.intent.id)}/refund`, {
    ...basic,
    body: { reason: "gift" },
  });
  await reached(world, `/v1/intents/${String(json.intent.id)}`, basic, "COMPLETED");
  await world.call("POST", `/v1/webhooks/${webhookId}/test`, basic);
  const feed = await world.call("GET", "/v1/events?limit=100", basic);
  const events = feed.json as readonly { readonly id: string; readonly type: string }[];
  expect(new Set(events.map(({ type }) => type)).size).toBe(4);
  for (const event of events)
    expect(problems(contentOf(event.type).schema, event), JSON.stringify(event)).toBe("");
});
