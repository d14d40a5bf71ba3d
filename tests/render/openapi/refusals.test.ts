import { ERRORS, type ErrorCode } from "@routewright/runtime/model";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { refusalsOf } from "../../../generator/render/openapi/refusals.js";
import { documentOf, entry, FULL, LEGACY, PARAMETERS, type Parsed } from "./catalogues.js";

const PLAIN = entry();
const PAGED = { defaultLimit: 1, maxLimit: 2, response: "list" } as const;

describe("the table of errors and the document", () => {
  const rich = documentOf(FULL, LEGACY, PLAIN);
  const described = Object.values<Parsed>(rich.components.responses).filter((one) => "content" in one);

  it("describes every row of the table in some response", () => {
    const codes = described.flatMap((one) => Object.keys(examplesOf(one)));
    expect(new Set(codes)).toEqual(new Set(Object.keys(ERRORS)));
  });

  it("describes nothing but rows of the table, under their status", () => {
    for (const path of Object.values<Parsed>(rich.paths)) {
      for (const operation of Object.values<Parsed>(path)) expectFromTable(rich, operation);
    }
  });

  it("tells cause and text of each row", () => {
    for (const one of described) {
      for (const code of Object.keys(examplesOf(one)) as ErrorCode[]) {
        expect(one.description).toContain(`- ${ERRORS[code].when}: \`${ERRORS[code].detail}\``);
      }
    }
  });

  it("tells a caller who has the rows already that they are the same", () => {
    const { get, post } = rich.paths[FULL.endpoint.path];
    expect(get.responses["304"]).toEqual({ $ref: "#/components/responses/NotModified" });
    expect(post.responses["304"]).toBeUndefined();
    expect(Object.keys(get.responses["200"].content)).toEqual([
      "application/json",
      "text/csv",
      "application/x-ndjson",
    ]);
  });

  it("has no component that no operation refers to", () => {
    const text = JSON.stringify(rich.paths);
    for (const name of Object.keys(rich.components.responses)) expect(text).toContain(`/responses/${name}"`);
  });
});

describe("the refusals of an operation", () => {
  it("of a plain GET hold only what it can meet", () => {
    expect(codesOf(PLAIN)).toEqual({
      400: ["unsupportedQuery", "notSingle", "notSortable"],
      403: ["unknownKey"],
      404: ["notFound"],
      429: ["rateLimited"],
      500: ["queryFailed", "unexpected"],
      503: ["overloaded"],
    });
  });

  it("of a legacy GET hold its own answer to any parameter", () => {
    expect(codesOf(LEGACY)[400]).toEqual(["legacyParameters"]);
  });

  it("of a GET above tier0 hold the missing key and the low tier", () => {
    expect(codesOf(entry({ tier: "tier2" }))[403]).toEqual(["missingKey", "unknownKey", "tierTooLow"]);
  });

  it("of a POST hold the body's faults and a path that has lost its POST", () => {
    const { 400: bad, 405: gone, 413: large } = codesOf(entry({ methods: ["GET", "POST"] }), "POST");
    expect(bad).toEqual([
      "unsupportedBody",
      "notSingle",
      "notSortable",
      "queryOnPost",
      "bodyNotJson",
      "bodyNotObject",
    ]);
    expect([gone, large]).toEqual([["methodNotAllowed"], ["bodyTooLarge"]]);
  });

  it("hold too many values only where a parameter has a maximum", () => {
    const list = { name: "token", column: "token", operator: "IN", type: "string_list" } as const;
    expect(codesOf(entry({ parameters: [list] }))[400]).not.toContain("tooManyValues");
    expect(codesOf(entry({ parameters: [{ ...list, maxItems: 2 }] }))[400]).toContain("tooManyValues");
  });

  it("share a component exactly if they are the same", () => {
    fc.assert(
      fc.property(fc.array(sketches, { minLength: 2 }), (several) => {
        const sets = several.flatMap(({ endpoint }) =>
          endpoint.methods.flatMap((method) => refusalsOf({ kind: "data", endpoint, method })),
        );
        const byName = new Set(sets.map(({ name }) => name));
        const byCodes = new Set(sets.map(({ codes }) => codes.join()));
        const together = new Set(sets.map(({ name, codes }) => `${name} ${codes.join()}`));
        expect([byName.size, byCodes.size]).toEqual([together.size, together.size]);
      }),
    );
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
      expect(Object.keys(one.headers).slice(0, 4)).toEqual([
        "X-RateLimit-Limit",
        "X-RateLimit-Remaining",
        "X-RateLimit-Reset",
        "X-Request-Id",
      ]);
    }
  });

  it("tell when to try again on 429 and 503, and the methods on 405", () => {
    const { TooManyRequests, ServiceUnavailable, MethodNotAllowed } = components.responses;
    expect(TooManyRequests.headers).toHaveProperty("Retry-After");
    expect(ServiceUnavailable.headers).toHaveProperty("Retry-After");
    expect(MethodNotAllowed.headers).toHaveProperty("Allow");
  });
});

const sketches = fc
  .record({
    tier: fc.constantFrom("tier0", "tier3"),
    methods: fc.constantFrom(["GET"] as const, ["GET", "POST"] as const),
    parameters: fc.subarray([...PARAMETERS]),
    allowUnfiltered: fc.boolean(),
    anyOf: fc.boolean(),
    pagination: fc.constantFrom(null, PAGED),
    sortableFields: fc.constantFrom([], ["value"]),
    legacy: fc.boolean(),
  })
  .map(({ legacy, anyOf, ...sketch }) => {
    const names = sketch.parameters.map(({ name }) => name);
    return legacy ? LEGACY : entry({ ...sketch, requireAnyOf: anyOf ? names.slice(0, 1) : [] } as const);
  });

function codesOf(
  { endpoint }: typeof PLAIN,
  method: "GET" | "POST" = "GET",
): Record<number, readonly string[]> {
  const sets = refusalsOf({ kind: "data", endpoint, method });
  return Object.fromEntries(sets.map(({ status, codes }) => [status, codes]));
}

function examplesOf(one: Parsed): Record<string, Parsed> {
  return one.content["application/json"].examples;
}

function expectFromTable(document: Parsed, operation: Parsed): void {
  const refusals = Object.entries<Parsed>(operation.responses).filter(
    ([status, one]) => "$ref" in one && status !== "304",
  );
  expect(refusals.length).toBeGreaterThan(0);
  for (const [status, { $ref }] of refusals) {
    const component = document.components.responses[$ref.split("/").at(-1)];
    for (const [code, { value }] of Object.entries(examplesOf(component))) {
      expect(value).toEqual({ detail: ERRORS[code as ErrorCode].detail });
      expect(ERRORS[code as ErrorCode].status).toBe(Number(status));
    }
  }
}
