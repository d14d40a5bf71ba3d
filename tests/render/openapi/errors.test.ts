import { ERRORS, type ErrorCode } from "@routewright/runtime/model";
import { describe, expect, it } from "vitest";
import { documentOf, entry, FULL, LEGACY, type Parsed } from "./catalogues.js";

const PLAIN = entry();
const CURSORS = entry({
  resource: "transfers",
  pagination: { defaultLimit: 10, maxLimit: 100, response: "list" },
  cursor: ["value"],
});

const ENDED = entry({
  resource: "old",
  deprecationDate: "2027-01-31T00:00:00Z",
  goneAt: "2027-03-02T00:00:00Z",
});

describe("the table of errors and the document", () => {
  const rich = documentOf(FULL, LEGACY, PLAIN, CURSORS, ENDED);
  const described = Object.values<Parsed>(rich.components.responses).filter((one) => "content" in one);

  it("describes every row of the table in some response", () => {
    const codes = described.flatMap((one) => Object.keys(examplesOf(one)));
    // `/odata` describes itself.
    const others = Object.keys(ERRORS).filter((code) => !/^(?:notAcceptable|notImplemented)$/.test(code));
    expect(new Set(codes)).toEqual(new Set(others));
  });

  it("describes nothing but rows of the table, under their status", () => {
    for (const path of Object.values<Parsed>(rich.paths)) {
      for (const operation of Object.values<Parsed>(path)) expectFromTable(rich, operation);
    }
  });

  it("gives each row as an example, and its status one line on the front page", () => {
    for (const one of described) {
      for (const [code, example] of Object.entries(examplesOf(one)) as [ErrorCode, unknown][]) {
        const { when, detail, status } = ERRORS[code];
        expect(example).toEqual({ summary: when, value: { detail } });
        expect(rich.info.description).toContain(`| ${String(status)} | ${one.description} |`);
      }
    }
  });

  it("documents 304 for a caller that has the rows already", () => {
    const { get, post } = rich.paths[FULL.path];
    expect(get.responses["304"]).toEqual({ $ref: "#/components/responses/NotModified" });
    expect(post.responses["304"]).toBeUndefined();
  });

  it("describes other formats in words, so that a generated client has rows and nothing else", () => {
    const { content, description } = rich.paths[FULL.path].get.responses["200"];
    expect(Object.keys(content)).toEqual(["application/json"]);
    expect(description).toMatch(/text\/csv.*\.csv.*application\/x-ndjson.*\.ndjson/);
  });

  it("has no component that no operation refers to", () => {
    const text = JSON.stringify(rich.paths);
    for (const name of Object.keys(rich.components.responses)) expect(text).toContain(`/responses/${name}"`);
  });
});

describe("the errors of an operation", () => {
  const document = documentOf(FULL, LEGACY, PLAIN);
  const errorsOf = (path: string, method: string) =>
    Object.entries<Parsed>(document.paths[path][method].responses)
      .filter(([status]) => Number(status) >= 400)
      .map(([status, { $ref }]) => `${status} ${String($ref).split("/").at(-1)}`);
  const DATA = ["400 BadRequest", "401 Unauthorized", "403 Forbidden", "404 NotFound"];
  const LATER = [
    "429 TooManyRequests",
    "500 InternalServerError",
    "502 BadGateway",
    "503 ServiceUnavailable",
  ];
  const OF_GET = [
    ...[...DATA, "416 RangeNotSatisfiable", "429 TooManyRequests", "431 HeadersTooLarge"],
    ...LATER.slice(1),
  ];

  it("have one component for each status, whatever the endpoint declares", () => {
    expect(errorsOf(PLAIN.path, "get")).toEqual(OF_GET);
    expect(errorsOf(LEGACY.path, "get")).toEqual(OF_GET);
    expect(Object.keys(document.components.responses)).toHaveLength(16);
  });

  it("of a POST include those of its body, and of a path that has lost its POST", () => {
    const more = [
      "405 MethodNotAllowed",
      "408 RequestTimeout",
      "413 ContentTooLarge",
      "417 ExpectationFailed",
    ];
    expect(errorsOf(FULL.path, "post")).toEqual([...DATA, ...more, ...LATER]);
  });

  it("of a document are an unknown key, its own limit and a fault", () => {
    expect(errorsOf("/docs", "get")).toEqual([
      "401 Unauthorized",
      "403 Forbidden",
      "429 TooManyRequests",
      "500 InternalServerError",
    ]);
    expect(errorsOf("/health", "get")).not.toContain("429 TooManyRequests");
    expect(errorsOf("/v1/system/manifest/refresh", "post")).toEqual([
      "401 Unauthorized",
      "403 Forbidden",
      ...LATER.slice(0, 2),
      "503 ServiceUnavailable",
    ]);
  });
});

describe("the headers of a response", () => {
  const { paths, components } = documentOf(FULL, LEGACY);
  const inline = Object.values<Parsed>(paths)
    .flatMap((path) => Object.values<Parsed>(path))
    .flatMap((operation) => Object.values<Parsed>(operation.responses))
    .filter((one) => !("$ref" in one));

  it("are those of the rate limit and the request id on every one", () => {
    for (const one of [...inline, ...Object.values<Parsed>(components.responses)]) {
      expect(Object.keys(one.headers).slice(0, 6)).toEqual([
        "X-RateLimit-Limit",
        "X-RateLimit-Remaining",
        "X-RateLimit-Reset",
        "RateLimit",
        "RateLimit-Policy",
        "X-Request-Id",
      ]);
    }
  });

  it("document Retry-After on 429 and 503, and Allow on 405", () => {
    const { TooManyRequests, ServiceUnavailable, MethodNotAllowed } = components.responses;
    expect(TooManyRequests.headers).toHaveProperty("Retry-After");
    expect(ServiceUnavailable.headers).toHaveProperty("Retry-After");
    expect(MethodNotAllowed.headers).toHaveProperty("Allow");
  });
});

function examplesOf(one: Parsed): Record<string, Parsed> {
  return one.content["application/json"].examples;
}

function expectFromTable(document: Parsed, operation: Parsed): void {
  const errors = Object.entries<Parsed>(operation.responses).filter(
    ([status, one]) => "$ref" in one && status !== "304",
  );
  expect(errors.length).toBeGreaterThan(0);
  for (const [status, { $ref }] of errors) {
    const component = document.components.responses[$ref.split("/").at(-1)];
    for (const [code, { value }] of Object.entries(examplesOf(component))) {
      expect(value).toEqual({ detail: ERRORS[code as ErrorCode].detail });
      expect(ERRORS[code as ErrorCode].status).toBe(Number(status));
    }
  }
}
