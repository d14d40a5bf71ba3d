/** The document is enough to integrate: it shows every request, every answer and every event, as they are. */
import { expect, it } from "vitest";
import ASSETS from "../../../runtime/ramp/database/assets.json" with { type: "json" };
import { PATTERN_WORDS } from "../../../runtime/ramp/core/pattern-words.js";
import { PAGE_ADDRESS } from "../../../runtime/ramp/providers/message-fields.js";
import * as protocol from "../../../runtime/ramp/providers/protocol.js";
import { EVENT_TYPES } from "../../../runtime/ramp/webhooks/events.js";
import { readDocument } from "../support/documented.js";
import { ownReceiver } from "../support/receiver.js";
import { newCustomer, onramp, ownWorld, reached } from "../support/world.js";

const world = await ownWorld();
await world.sandbox.set({ settleMs: 20 });

const { document, problems, schemaOfEvent } = await readDocument(world);

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => [`${method} ${path}`, operation] as const),
);

it("describes each group of operations, in their order", () => {
  const used = operations.flatMap(([, { tags }]) => tags);
  expect(document.tags.map(({ name }) => name)).toEqual([...new Set(used)]);
  for (const { description } of document.tags) expect(description).toMatch(/\.$/);
});

it("begins with who sends what, and calls in their order that it describes", async () => {
  const { info } = (await (await fetch(`${world.url}/openapi.json`)).json()) as {
    readonly info: { readonly description: string };
  };
  const called = [...info.description.matchAll(/`(GET|POST) (\/v1[^`]*)`/g)].map(
    ([, method = "", path = ""]) => `${method.toLowerCase()} ${path}`,
  );
  expect(called.length).toBeGreaterThan(6);
  const known: ReadonlySet<string> = new Set(operations.map(([name]) => name));
  expect(called.filter((name) => !known.has(name))).toEqual([]);
});

it("says in words what a text must be, for every pattern of requests and of providers' messages", () => {
  const patternsIn = (value: unknown): readonly string[] =>
    typeof value !== "object" || value === null
      ? []
      : Object.entries(value).flatMap(([name, item]: [string, unknown]) =>
          name === "pattern" && typeof item === "string" ? [item] : patternsIn(item),
        );
  const requests = operations.map(([, { parameters, requestBody }]) => [parameters, requestBody]);
  const patterns = [...patternsIn(requests), ...patternsIn({ ...protocol }), ...patternsIn(ASSETS)];
  expect(patterns.length).toBeGreaterThan(50);
  const known: ReadonlySet<string> = new Set([...Object.keys(PATTERN_WORDS), PAGE_ADDRESS]);
  expect([...new Set(patterns)].filter((pattern) => !known.has(pattern))).toEqual([]);
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

it("describes every event, with a valid example", () => {
  expect(Object.keys(document.webhooks)).toEqual(EVENT_TYPES);
  for (const type of EVENT_TYPES) {
    const { schema, example } = schemaOfEvent(type);
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
  expect(new Set(events.map(({ type }) => type)).size).toBe(5);
  for (const event of events)
    expect(problems(schemaOfEvent(event.type).schema, event), JSON.stringify(event)).toBe("");
});
