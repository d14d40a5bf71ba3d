import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { ERRORS } from "../../../runtime/core/model/errors.js";
import { prefersProblem } from "../../../runtime/core/response/content-negotiation.js";
import { PROBLEM_SCHEMA } from "../../../generator/render/openapi/responses.js";
import { sendRequest, type RequestOptions } from "../../support/http-client.js";
import { serveOrders } from "../../support/orders.js";
import { KEYS } from "../../support/service.js";

const { url } = await serveOrders({ RATE_LIMITS: "tier0=1000,tier1=3", DOCUMENT_RATE_LIMIT: "3" });
const PROBLEM = "application/problem+json";
const isProblem = new Ajv({ strict: false, validateFormats: false }).compile(PROBLEM_SCHEMA);

async function problem(target: string, question: RequestOptions = {}) {
  const headers = { accept: PROBLEM, ...question.headers };
  const { status, text, headers: sent } = await sendRequest(url, target, { ...question, headers });
  const body = JSON.parse(text) as Readonly<Record<string, unknown>>;
  expect(isProblem(body), JSON.stringify(isProblem.errors)).toBe(true);
  expect(sent["content-type"]).toBe(PROBLEM);
  expect(body["status"]).toBe(status);
  return { body, headers: sent };
}

describe("an error to a caller that prefers problem details", () => {
  it.each([
    ["missingKey", "/v1/shop/tier3", {}],
    ["unknownKey", "/v1/shop/tier0", { key: "sk_live_x" }],
    ["unsupportedQuery", "/v1/shop/tier0?x=1", {}],
    ["notFound", "/v1/none", {}],
    ["methodNotAllowed", "/v1/shop/tier0", { method: "DELETE" }],
    ["bodyTooLarge", "/v1/shop/tier0", { method: "POST", body: "x".repeat(1024 * 1024 + 1) }],
  ] as const)("is one of the table: %s", async (code, target, question) => {
    const { body } = await problem(target, question);
    const when = ERRORS[code].when;
    expect(body).toMatchObject({
      type: `urn:routewright:error:${code}`,
      title: `${when.charAt(0).toUpperCase()}${when.slice(1)}.`,
    });
    const plain = JSON.parse((await sendRequest(url, target, question)).text) as { readonly detail: string };
    expect(body["detail"]).toBe(plain.detail);
  });

  it("names the policy of a rate limit that it exceeds", async () => {
    const question = { key: KEYS.tier1 };
    for (let i = 0; i < 3; i++) await sendRequest(url, "/v1/shop/tier0", question);
    const { body, headers } = await problem("/v1/shop/tier0", question);
    expect(body).toMatchObject({
      type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
      "violated-policies": ["minute"],
    });
    expect(headers["ratelimit"]).toBe(`"minute";r=0;t=${String(headers["retry-after"])}`);
    expect(headers["ratelimit-policy"]).toBe('"minute";q=3;w=60');
  });

  it("does not name it where another limit is exceeded", async () => {
    for (let i = 0; i < 3; i++) await sendRequest(url, "/docs", {});
    const { body } = await problem("/docs");
    expect(body).toMatchObject({ type: "urn:routewright:error:rateLimited" });
    expect(body).not.toHaveProperty("violated-policies");
  });

  it("leaves rows as they are", async () => {
    const { status, headers } = await sendRequest(url, "/v1/shop/tier0", { headers: { accept: PROBLEM } });
    expect([status, headers["content-type"]]).toEqual([200, "application/json; charset=utf-8"]);
  });
});

describe("Accept", () => {
  it.each([
    "application/problem+json",
    "application/json, application/problem+json",
    "Application/Problem+JSON;q=0.5, text/csv",
    "application/problem+json;q=0.9, application/json;q=0.9, */*",
    'application/json;profile="application/problem+json;q=0,b";q=0.1, application/problem+json',
  ])("prefers problem details: %s", (accept) => {
    expect(prefersProblem(accept)).toBe(true);
  });

  it.each([
    undefined,
    "*/*",
    "application/json",
    "application/problem+json;q=0",
    'application/problem+json;profile="a,b";q=0',
    "application/json, application/problem+json;q=0.5",
    "application/problem+json;q=x",
    "text/x-problem+json",
    `application/problem+json, ${"a/b, ".repeat(300)}`,
  ])("does not: %s", (accept) => {
    expect(prefersProblem(accept)).toBe(false);
  });
});
