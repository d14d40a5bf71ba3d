import { describe, expect, it } from "vitest";
import { catalogueFrom, catalogueOfNode, onlySkipped, pathsOf, told } from "./catalogues.js";

const tags = (resource: string, ...more: string[]): string[] => [
  "production",
  "c",
  `api:${resource}`,
  ...more,
];

describe("a path that two models ask for", () => {
  it("belongs to the first by unique_id, whatever the order in the manifest", () => {
    const [a, b] = [
      { name: "a", tags: tags("r") },
      { name: "b", tags: tags("r") },
    ];
    for (const models of [
      [a, b],
      [b, a],
    ]) {
      const catalogue = catalogueFrom(models);
      expect(catalogue.entries.map(({ uniqueId }) => uniqueId)).toEqual(["model.test.a"]);
      const skipped = onlySkipped(catalogue);
      expect(skipped).toMatchObject({ model: "model.test.b", reason: "path-taken" });
      expect(told(skipped.problems)).toEqual(["$.tags: The path /v1/c/r belongs to model.test.a."]);
    }
  });

  it("belongs to the first although it is invalid, so that fixing it moves no other model", () => {
    const catalogue = catalogueFrom([
      { name: "a", tags: tags("r"), api: {} },
      { name: "b", tags: tags("r") },
    ]);
    expect(catalogue.entries).toEqual([]);
    expect(catalogue.skipped.map(({ model, reason }) => [model, reason])).toEqual([
      ["model.test.a", "invalid"],
      ["model.test.b", "path-taken"],
    ]);
  });

  it("is reported beside the other problems of an invalid second model", () => {
    const catalogue = catalogueFrom([
      { name: "a", tags: tags("r") },
      { name: "b", tags: tags("r"), api: {} },
    ]);
    const { reason, problems } = onlySkipped(catalogue);
    expect(reason).toBe("invalid");
    expect(problems.map(({ path }) => path)).toEqual(["$.config.meta.api.allow_unfiltered", "$.tags"]);
  });

  it("does not belong to a model that is excluded, or whose tags make no path", () => {
    const excluded = { name: "a", tags: tags("r"), api: { exclude_from_api: true } };
    expect(pathsOf(catalogueFrom([excluded, { name: "b", tags: tags("r") }]))).toEqual(["/v1/c/r"]);
    const bad = [
      { name: "a", tags: tags("..") },
      { name: "b", tags: tags("..") },
    ];
    expect(catalogueFrom(bad).skipped.map(({ problems }) => problems.length)).toEqual([1, 1]);
  });

  it("is the same whether a window or a granularity gives its last segment", () => {
    const models = [
      { name: "a", tags: tags("r", "window:7d") },
      { name: "b", tags: tags("r", "granularity:7d") },
    ];
    expect(onlySkipped(catalogueFrom(models)).reason).toBe("path-taken");
  });
});

describe("exclude_from_api", () => {
  it.each([
    ["alone", { exclude_from_api: true }],
    ["beside what would be invalid", { exclude_from_api: true, methods: "none", nonsense: 1 }],
  ])("true skips a model without a complaint, %s", (_, api) => {
    const catalogue = catalogueFrom([{ name: "a", tags: tags("r"), api }]);
    expect(onlySkipped(catalogue)).toMatchObject({ reason: "excluded", problems: [] });
    expect(catalogue.warnings).toEqual([]);
  });

  it.each(["true", 1, null, "yes"])("%j is an error", (value) => {
    const api = { exclude_from_api: value, allow_unfiltered: true };
    const { reason, problems } = onlySkipped(catalogueFrom([{ name: "a", tags: tags("r"), api }]));
    expect(reason).toBe("invalid");
    expect(told(problems)).toEqual([
      `$.config.meta.api.exclude_from_api: ${JSON.stringify(value)} is not of type boolean.`,
    ]);
  });
});

describe("meta.api", () => {
  const catalogueWith = (node: object) => catalogueOfNode({ tags: tags("r"), ...node });
  const allowed = { api: { allow_unfiltered: true } };

  it.each([[null], [{}]])("%j is metadata-driven, and invalid", (api) => {
    const { problems } = onlySkipped(catalogueFrom([{ name: "a", tags: tags("r"), api }]));
    expect(told(problems)).toEqual([
      "$.config.meta.api.allow_unfiltered: It is false and no parameter is declared: every request would be refused.",
    ]);
  });

  it("of the configuration wins, also when it is null", () => {
    const [entry] = catalogueWith({ config: { meta: allowed }, meta: { api: null } }).entries;
    expect(entry).toMatchObject({ legacy: false, allowUnfiltered: true });
    const { problems } = onlySkipped(catalogueWith({ config: { meta: { api: null } }, meta: allowed }));
    expect(problems[0]?.path).toBe("$.config.meta.api.allow_unfiltered");
  });

  it("of the node counts where the configuration has none, and is named so", () => {
    const node = { config: { meta: { owner: "me" } }, meta: { api: { allow_unfiltered: 1 } } };
    expect(onlySkipped(catalogueWith(node)).problems[0]?.path).toBe("$.meta.api.allow_unfiltered");
  });
});

it("the order of endpoints is by category, by resource, then none, the named granularities, and others alphabetically", () => {
  const granularities = [
    "all_time",
    "zeta",
    "monthly",
    "hourly",
    "daily",
    "latest",
    "last_30d",
    "weekly",
    "in_ranges",
    "last_7d",
    "alpha",
  ];
  const models = [
    ...granularities.map((granularity) => ({
      name: granularity,
      tags: tags("r", `granularity:${granularity}`),
    })),
    { name: "plain", tags: tags("r") },
    { name: "windowed", tags: tags("r", "granularity:daily", "window:7d") },
    { name: "upper", tags: tags("R") },
    { name: "earlier", tags: ["production", "b", "api:z"] },
  ];
  expect(pathsOf(catalogueFrom(models))).toEqual([
    "/v1/b/z",
    "/v1/c/R",
    "/v1/c/r",
    "/v1/c/r/latest",
    "/v1/c/r/daily",
    "/v1/c/r/daily/7d",
    "/v1/c/r/weekly",
    "/v1/c/r/monthly",
    "/v1/c/r/last_7d",
    "/v1/c/r/last_30d",
    "/v1/c/r/in_ranges",
    "/v1/c/r/all_time",
    "/v1/c/r/alpha",
    "/v1/c/r/hourly",
    "/v1/c/r/zeta",
  ]);
});
