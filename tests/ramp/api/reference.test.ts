/** The tables of runtime/ramp/docs are those of the code, both ways. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { DEPOSIT_ACCOUNT_MOVES } from "../../../runtime/ramp/intents/deposit-account.js";
import { REFUND_TRANSITIONS } from "../../../runtime/ramp/intents/refund-transitions.js";
import { REQUIREMENT_MOVES } from "../../../runtime/ramp/intents/requirement.js";
import { REFUSALS } from "../../../runtime/ramp/intents/refusal.js";
import { INTENT_MOVES, isTerminal, type IntentStatus } from "../../../runtime/ramp/intents/intent.js";
import { RAMP_ERRORS } from "../../../runtime/ramp/core/ramp-errors.js";
import { DEFAULT_POLLING_POLICY } from "../../../runtime/ramp/intents/lease.js";
import { CALLS } from "../../../runtime/ramp/providers/calls.js";
import { type OperationName, OPERATIONS } from "../../../runtime/ramp/providers/operations.js";
import { REQUEST_HEADERS, requestSignature } from "../../../runtime/ramp/providers/signature.js";
import { UNAVAILABLE_REASONS } from "../../../runtime/ramp/providers/quotes.js";
import { FIELD_KINDS, KEYWORD_KINDS } from "../../../runtime/ramp/providers/form.js";
import * as protocol from "../../../runtime/ramp/providers/protocol.js";
import * as depositMessages from "../../../runtime/ramp/providers/deposit-messages.js";
import { rowsOf } from "../../support/pages.js";
import { EVENT_TYPES } from "../../../runtime/ramp/webhooks/events.js";
import { RESULTS } from "../../../runtime/webhooks/last-result.js";

const PROTOCOL = "runtime/ramp/docs/provider-protocol.md";
const plain = (cell = ""): string => cell.replaceAll("`", "");

it("errors", () => {
  const rows = rowsOf("runtime/ramp/docs/errors.md").map(([code, status, when]) => [
    plain(code),
    status,
    when,
  ]);
  const expected = Object.entries(RAMP_ERRORS).map(([code, { status, when }]) => [
    code,
    String(status),
    when,
  ]);
  expect(rows).toEqual(expected);
});

it("reasons why a provider does not quote", () => {
  const rows = rowsOf("runtime/ramp/docs/intents.md", "Quotes");
  expect(rows.map(([reason]) => plain(reason))).toEqual(UNAVAILABLE_REASONS);
});

it("moves of an intent", () => {
  const rows = rowsOf("runtime/ramp/docs/intents.md", "States").map(([from, to]) => [
    plain(from),
    plain(to).split(", "),
  ]);
  const expected = Object.entries(INTENT_MOVES).filter(([from]) => !isTerminal(from as IntentStatus));
  expect(rows).toEqual(expected);
});

it.each([
  ["a refund", "intents", "Refunds", REFUND_TRANSITIONS],
  ["a check", "intents", "Checks and pages", REQUIREMENT_MOVES],
  ["a deposit account", "deposit-accounts", "States", DEPOSIT_ACCOUNT_MOVES],
])("moves of %s, and what makes them", (_, page, section, moves) => {
  const rows = rowsOf(`runtime/ramp/docs/${page}.md`, section).map(([from, to, when]) => [
    plain(from),
    plain(to),
    when,
  ]);
  const expected = Object.entries(moves).flatMap(([from, tos]) =>
    Object.entries(tos).map(([to, when]) => [from, to, when]),
  );
  expect(rows).toEqual(expected);
});

it("reasons why a payment to a deposit account goes back", () => {
  const rows = rowsOf("runtime/ramp/docs/deposit-accounts.md", "What goes back");
  expect(rows.map(([reason, words]) => [plain(reason), words])).toEqual(
    Object.entries(depositMessages.DEPOSIT_RETURNS),
  );
});

it("reasons of refusals, and what follows", () => {
  const rows = rowsOf("runtime/ramp/docs/intents.md", "Refusals").map(([reason, when, then]) => [
    plain(reason),
    when,
    plain(then),
  ]);
  expect(rows).toEqual(Object.entries(REFUSALS).map(([reason, { when, then }]) => [reason, when, then]));
});

it("results of webhooks", () => {
  const rows = rowsOf("runtime/ramp/docs/webhooks.md", "Results");
  expect(rows.map(([result, words]) => [plain(result), words])).toEqual(
    RESULTS.map(({ result, words }) => [result, words ?? ""]),
  );
});

it("events", () => {
  expect(rowsOf("runtime/ramp/docs/webhooks.md", "Events").map(([name]) => plain(name))).toEqual(EVENT_TYPES);
});

interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly format?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
  readonly "x-longer"?: string;
  readonly additionalProperties?: boolean | Schema;
}

const MESSAGES = Object.entries({ ...protocol, ...depositMessages } as unknown as Readonly<
  Record<string, Schema>
>).filter(([, { properties }]) => properties !== undefined);
/** By their properties: an optional message is a copy of its schema. */
const names = new Map<unknown, string>(MESSAGES.map(([name, { properties }]) => [properties, name]));

function typeOf(schema: Schema): string {
  const { type, items, pattern, enum: values } = schema;
  const orNull = Array.isArray(type) ? ", null" : "";
  const name = names.get(schema.properties);
  if (name !== undefined) return name + orNull;
  if (values) return values.join(", ");
  if (items) return `list of ${typeOf(items)}`;
  return (pattern?.startsWith("^[0-9]") ? "decimal" : String([type ?? ""].flat()[0])) + orNull;
}

/** What a value is checked against, beside its type. */
function boundsOf(schema: Schema): string {
  const {
    pattern,
    format,
    minLength,
    maxLength,
    minimum,
    maximum,
    maxItems,
    additionalProperties: values,
  } = schema;
  const range = (least: number | undefined, most: number, unit: string): string =>
    `${least === undefined || least === 0 ? "up to" : `${String(least)} to`} ${most.toLocaleString("en")}${unit}`;
  return [
    pattern === undefined ? "" : `\`${pattern.replaceAll("|", "\\|")}\``,
    format !== undefined ? `format \`${format}\`` : "",
    maxLength === undefined ? "" : range(minLength, maxLength, " characters"),
    schema["x-longer"] === "cut" ? "a longer one is cut" : "",
    maximum === undefined ? "" : range(minimum, maximum, ""),
    maxItems === undefined ? "" : range(0, maxItems, " items"),
    typeof values === "object" && values.maxLength !== undefined ? `each ${boundsOf(values)}` : "",
    schema.items && names.get(schema.items.properties) === undefined && boundsOf(schema.items) !== ""
      ? `each ${boundsOf(schema.items)}`
      : "",
  ]
    .filter((bound) => bound !== "")
    .join(", ");
}

/** Field, type, bounds and meaning of each field; objects without a name of their own are written out. */
function fieldsOf(prefix: string, { properties = {}, required = [] }: Schema): readonly string[][] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const isOptional = !required.includes(name);
    const path = `${prefix}.${name}`;
    const row = [
      path,
      `${typeOf(schema)}${isOptional ? ", optional" : ""}`,
      boundsOf(schema),
      schema.description ?? "",
    ];
    const inner = schema.items ?? schema;
    const isUnnamed = inner.properties !== undefined && !names.has(inner.properties);
    return [row, ...(isUnnamed ? fieldsOf(schema.items ? `${path}[]` : path, inner) : [])];
  });
}

it("fields of the provider protocol", () => {
  const expected = MESSAGES.flatMap(([name, schema]) => fieldsOf(name, schema));
  const rows = rowsOf(PROTOCOL, "Messages").map(([field, ...cells]) => [plain(field), ...cells]);
  expect(rows.sort()).toEqual(expected.sort());
});

it("statuses of an execution", () => {
  const rows = rowsOf(PROTOCOL, "Statuses of an execution");
  const { status } = protocol.Execution.properties as unknown as Readonly<Record<string, Schema>>;
  expect(rows.map(([name]) => plain(name))).toEqual(status?.enum);
});

it("time limits, attempts and occasions of the calls of the provider protocol", () => {
  expect(Object.keys(CALLS).sort()).toEqual(Object.keys(OPERATIONS).sort());
  const expected = Object.entries(OPERATIONS).map(([name, { method, path, ...more }]) => {
    const { timeoutMs, attempts, when } = CALLS[name as OperationName];
    const query = "query" in more ? `?${more.query.join("&")}` : "";
    return [`${method} ${path}${query}`, `${String(timeoutMs / 1_000)} s`, String(attempts), when];
  });
  const rows = rowsOf(PROTOCOL, "Timing").map(([call, within, attempts, when]) => [
    plain(call),
    within,
    attempts,
    when,
  ]);
  expect(rows).toEqual(expected);
});

it("occasions of calls have the times of the policy", () => {
  const { compliancePollMs, executionPollMs, firstBackoffMs, maxBackoffMs, maxPollMs, followUpMs } =
    DEFAULT_POLLING_POLICY;
  expect([compliancePollMs, executionPollMs, firstBackoffMs, maxBackoffMs, maxPollMs]).toEqual([
    ...[60_000, 15_000, 1_000, 60_000, 600_000],
  ]);
  expect(followUpMs / 86_400_000).toBe(60);
  expect(CALLS.onboarding.when).toContain("after a minute, then at a quarter");
  expect(CALLS.execution.when).toMatch(/first after 15 s; for 60 days/);
});

it("operations of the provider protocol", () => {
  const nameOf = (schema: { properties: unknown } | null): string => names.get(schema?.properties) ?? "";
  const expected = Object.values(OPERATIONS).map(({ method, path, request, answer, keyed, ...more }) => [
    `${method} ${path}${"query" in more ? `?${more.query.join("&")}` : ""}`,
    nameOf(request),
    nameOf(answer),
    keyed ? "yes" : "",
  ]);
  const rows = rowsOf(PROTOCOL, "Operations of a provider").map(([call, ...cells]) => [
    plain(call),
    ...cells,
  ]);
  expect(rows).toEqual(expected);
});

it("kinds of fields that the hosted page draws", () => {
  const rows = rowsOf(PROTOCOL, "Forms").map(([field, drawn]) => [plain(field), drawn]);
  const byType = Object.entries(FIELD_KINDS).map(([field, [, drawn]]) => [field, drawn]);
  expect(rows).toEqual([...byType, ...Object.entries(KEYWORD_KINDS)]);
});

it("the signature that the page works out is that of the ramp", () => {
  const page = readFileSync(new URL(`../../../${PROTOCOL}`, import.meta.url), "utf8");
  const request = {
    ...{ timestamp: "1767225600", method: "POST", target: "/north/executions" },
    ...{ idempotencyKey: "execution:1", body: '{"id":"1"}' },
  };
  for (const text of Object.values(request)) expect(page).toContain(text);
  expect(page).toContain(requestSignature("secret", request));
  for (const header of Object.values(REQUEST_HEADERS)) expect(page.toLowerCase()).toContain(`\`${header}\``);
});
