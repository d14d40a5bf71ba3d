import { describe, expect, it } from "vitest";
import { entry, FULL, LEGACY, operationOf, PARAMETERS, type Parsed } from "./catalogues.js";

const ORDER = [
  "token",
  "bridge",
  "start_date",
  "end_date",
  "action",
  "limit",
  "offset",
  "sort_by",
  "sort_direction",
];

describe("an operation", () => {
  it("carries the tier, the model, the category and the model's description", () => {
    expect(operationOf(FULL)).toMatchObject({
      operationId: "get_bridges_netflow_per_token_daily",
      tags: ["bridges"],
      summary: "Netflow per token, daily",
      description: expect.stringMatching(/^Net flow per token and day\.\n\n/),
      "x-tier": "tier1",
      "x-dbt-model": "api_netflow_per_token",
    });
  });

  it("of a POST has the suffix (POST) in its summary, and is listed after the GET", () => {
    expect(operationOf(FULL, "post").summary).toBe("Netflow per token, daily (POST)");
    expect(operationOf(FULL).summary).not.toContain("POST");
  });

  it("names granularity and window in its title, unless they are the same", () => {
    expect(operationOf(entry({ granularity: "last_7d", window: "7d" })).summary).toBe("Volume, last 7d, 7d");
    const same = { granularity: "7d", window: "7d", path: "/v1/bridges/volume/7d" };
    expect(operationOf(entry(same)).summary).toBe("Volume, 7d");
  });

  it("needs no key in tier0 and one above", () => {
    expect(operationOf(LEGACY).security).toEqual([{}, { ApiKeyAuth: [] }]);
    expect(operationOf(FULL).security).toEqual([{ ApiKeyAuth: [] }]);
  });

  it("describes the fixed sort and the filters of which one is required", () => {
    expect(operationOf(FULL).description).toContain(
      "At least one of these parameters is required: `token`, `bridge`.",
    );
    expect(operationOf(FULL).description).toContain("Sorted by `date DESC`.");
  });

  it("answers with a bare array, or with an envelope where the endpoint says so", () => {
    expect(schemaOf(operationOf(LEGACY))).toEqual({
      type: "array",
      items: { $ref: "#/components/schemas/bridges_legacy_latest_row" },
    });
    expect(schemaOf(operationOf(FULL))).toEqual({
      type: "object",
      properties: {
        items: { type: "array", items: { $ref: "#/components/schemas/bridges_netflow_per_token_daily_row" } },
        pagination: { $ref: "#/components/schemas/Pagination" },
      },
      required: ["items", "pagination"],
    });
  });
});

describe("the query of a GET", () => {
  it("takes the parameters as declared, then the page, then the sort", () => {
    expect(operationOf(FULL).parameters.map((one: Parsed) => one.name)).toEqual([...ORDER, "Prefer"]);
    expect(operationOf(FULL)).not.toHaveProperty("requestBody");
  });

  it("takes nothing where nothing is declared", () => {
    expect(operationOf(LEGACY).parameters).toEqual([]);
  });

  it("takes a list by repeating its name, up to the most values allowed", () => {
    expect(parameterOf("token")).toMatchObject({
      style: "form",
      explode: true,
      schema: { type: "array", items: { type: "string" }, maxItems: 3 },
      description: expect.stringContaining("separate them with commas"),
    });
  });

  it("describes each parameter's column and operator after its author's words", () => {
    expect(parameterOf("token").description).toMatch(
      /^Symbol of the token\.\n\nFilter: `token IN \(values\)`\./,
    );
    expect(parameterOf("token").description).toContain("in upper case");
    expect(parameterOf("bridge").description).toContain("`bridge ILIKE value`");
    expect(parameterOf("start_date").description).toBe("Filter: `date >= value`, inclusive.");
    expect(parameterOf("end_date").description).toBe("Filter: `date <= value`, inclusive.");
    expect(parameterOf("action").description).toBe("Filter: `action = value`.");
  });

  it("types dates, page sizes and sort fields", () => {
    expect(parameterOf("start_date").schema).toEqual({ type: "string", format: "date" });
    expect(parameterOf("limit").schema).toEqual({ type: "integer", minimum: 1, maximum: 500, default: 50 });
    expect(parameterOf("offset").schema).toEqual({
      type: "integer",
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER,
      default: 0,
    });
    expect(parameterOf("sort_by").schema).toEqual({ type: "string", enum: ["date", "value"] });
    expect(parameterOf("sort_direction").schema).toEqual({
      type: "string",
      enum: ["ASC", "DESC"],
    });
    expect(bodyOf(FULL).dependentRequired).toEqual({ sort_direction: ["sort_by"] });
  });

  it("marks as required the only filter that will do, and none of several", () => {
    const sole = operationOf(entry({ parameters: PARAMETERS.slice(0, 1), allowUnfiltered: false }));
    expect(sole.parameters[0].required).toBe(true);
    expect(operationOf(FULL).parameters.some((one: Parsed) => one.required)).toBe(false);
  });
});

describe("the body of a POST", () => {
  it("has the same fields in the same order, and no others", () => {
    expect(Object.keys(bodyOf(FULL).properties)).toEqual(ORDER);
    expect(bodyOf(FULL).additionalProperties).toBe(false);
    expect(operationOf(FULL, "post").parameters.map((one: Parsed) => one.in)).toEqual(["header"]);
  });

  it("needs one of the parameters listed in require_any_of", () => {
    expect(bodyOf(FULL).allOf).toEqual([{ anyOf: [{ required: ["token"] }, { required: ["bridge"] }] }]);
    expect(operationOf(FULL, "post").requestBody.required).toBe(true);
  });

  it("needs any declared parameter where unfiltered requests are refused: limit and offset do not count", () => {
    const filtered = posting({ allowUnfiltered: false, parameters: PARAMETERS.slice(2, 4) });
    expect(bodyOf(filtered).allOf).toEqual([
      { anyOf: [{ required: ["start_date"] }, { required: ["end_date"] }] },
    ]);
  });

  it("may be left out where no filter is required", () => {
    const open = posting({ parameters: PARAMETERS });
    expect(operationOf(open, "post").requestBody.required).toBe(false);
    expect(bodyOf(open)).not.toHaveProperty("allOf");
  });

  it("keeps the declared order of parameters that look like integers or like __proto__", () => {
    const named = ["b", "2024", "__proto__"].map((name) => ({ ...ACTION, name }));
    const { properties } = bodyOf(posting({ parameters: named }));
    expect(Object.hasOwn(properties, "__proto__")).toBe(true);
    expect(Object.keys(properties)).toHaveLength(3);
  });
});

const ACTION = { name: "action", column: "action", operator: "=", type: "string" } as const;

function posting(sketch: Parameters<typeof entry>[0]) {
  return entry({ methods: ["GET", "POST"], ...sketch });
}

function parameterOf(name: string): Parsed {
  return operationOf(FULL).parameters.find((one: Parsed) => one.name === name);
}

function bodyOf(one: ReturnType<typeof entry>): Parsed {
  return operationOf(one, "post").requestBody.content["application/json"].schema;
}

function schemaOf(operation: Parsed): Parsed {
  return operation.responses["200"].content["application/json"].schema;
}
