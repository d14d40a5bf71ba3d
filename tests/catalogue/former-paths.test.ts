import { describe, expect, it } from "vitest";
import { catalogueFrom } from "../diff/catalogues.js";
import { manifestOf, type TestModel } from "../support/manifest.js";

const model = (name: string, former: unknown): TestModel => ({ name, routewright: { former_paths: former } });

/** The endpoints with their former paths, and the problems of the models without one. */
function published(...models: readonly TestModel[]) {
  const { entries, skipped } = catalogueFrom(manifestOf(models));
  return {
    served: entries.map(({ path, formerPaths = [] }) => [
      path,
      ...formerPaths.map(({ path, sunset }) => `${path} ${sunset ?? "always"}`),
    ]),
    problems: skipped.flatMap(({ problems }) => problems.map(({ path, message }) => `${path}: ${message}`)),
  };
}

const AT = "$.meta.routewright.former_paths";

describe("former paths", () => {
  it("belong to the endpoint of their model", () => {
    const former = [{ path: "/v1/old/orders/daily", sunset: "2030-01-31" }, { path: "/v1/older/orders" }];
    expect(published(model("orders", former))).toEqual({
      served: [["/v1/shop/orders", "/v1/old/orders/daily 2030-01-31T00:00:00Z", "/v1/older/orders always"]],
      problems: [],
    });
  });

  it.each([
    ["a text", "/v1/old/orders", `${AT}: "/v1/old/orders" is not a list of paths.`],
    ["a list of texts", ["/v1/old/orders"], `${AT}[0]: "/v1/old/orders" is not a path and its sunset.`],
    ["another key", [{ path: "/v1/old/orders", until: 1 }], `${AT}[0]: Unknown key "until".`],
    ["no date", [{ path: "/v1/old/orders", sunset: "soon" }], `${AT}[0].sunset: "soon" is not a date.`],
    ["a number as date", [{ path: "/v1/old/orders", sunset: 2030 }], `${AT}[0].sunset: 2030 is not a date.`],
    ["another root", [{ path: "/v2/old/orders" }], /\[0\]\.path: .* is not a path of an endpoint\.$/],
    ["a parent folder", [{ path: "/v1/../orders" }], /is not a path of an endpoint\.$/],
    ["five segments", [{ path: "/v1/a/b/c/d/e" }], /is not a path of an endpoint\.$/],
    ["the service's own", [{ path: "/v1/system/usage" }], /belongs to the service itself\.$/],
    ["a format", [{ path: "/v1/old/orders.csv" }], /ends in \.csv, which requests a format/],
    [
      "its own path",
      [{ path: "/v1/shop/orders" }],
      `${AT}[0].path: /v1/shop/orders is the model's own path.`,
    ],
    ["one twice", [{ path: "/v1/a/b" }, { path: "/v1/a/b" }], `${AT}[1].path: /v1/a/b is listed twice.`],
  ])("cannot be %s", (_, former, problem) => {
    const { served, problems } = published(model("orders", former));
    expect(served).toEqual([]);
    expect(problems).toEqual([typeof problem === "string" ? problem : expect.stringMatching(problem)]);
  });

  it("cannot be the path of another model, also where that model is invalid or comes later", () => {
    const claims = [{ path: "/v1/shop/sales" }];
    const sales = model("sales", []);
    const problem = `${AT}[0].path: /v1/shop/sales is the path of model.test.sales.`;
    expect(published(model("orders", claims), sales)).toEqual({
      served: [["/v1/shop/sales"]],
      problems: [problem],
    });
    expect(published(model("orders", claims), { ...sales, api: { sort: 1 } }).problems).toContain(problem);
  });

  it("cannot be claimed by two models: the first by unique_id has it", () => {
    const claims = [{ path: "/v1/old/all" }];
    expect(published(model("b", claims), model("a", claims))).toEqual({
      served: [["/v1/shop/a", "/v1/old/all always"]],
      problems: [`${AT}[0].path: /v1/old/all is a former path of model.test.a too.`],
    });
  });
});
