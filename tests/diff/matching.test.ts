import { describe, expect, it } from "vitest";
import { manifestOf, type TestModel } from "../support/manifest.js";
import { changesBetween } from "./catalogues.js";

function model(name: string, resource: string, more: Partial<TestModel> = {}): TestModel {
  return { name, tags: ["production", `api:${resource}`], columns: { a: "UInt8" }, ...more };
}

/** Kind, path and what it becomes. */
function described(base: readonly TestModel[], head: readonly TestModel[]): readonly string[] {
  return changesBetween(manifestOf(base), manifestOf(head)).map(({ kind, endpoint, after }) =>
    `${kind} ${endpoint} ${after ?? ""}`.trim(),
  );
}

describe("which endpoint is which", () => {
  it("a model under a new path has moved, and what else changed is reported at the old path", () => {
    expect(described([model("a", "x")], [model("a", "y", { columns: { b: "UInt8" } })])).toEqual([
      "path-moved /v1/general/x /v1/general/y",
      "column-removed /v1/general/x",
      "column-added /v1/general/x UInt8 null",
    ]);
  });

  it("a path that another model takes over is not removed, and the new path of the old model is added", () => {
    const [taken, added] = described([model("a", "x")], [model("a", "y"), model("b", "x")]);
    expect(taken).toContain("model-changed /v1/general/x");
    expect(added).toBe("endpoint-added /v1/general/y tier0");
  });

  it("pairs models of one name in two packages by dbt's id", () => {
    const project = (first: string, second: string) => {
      const json = manifestOf([model("p", first), model("q", second)]) as { nodes: Record<string, object> };
      for (const node of Object.values(json.nodes)) Object.assign(node, { name: "same" });
      return json;
    };
    expect(
      changesBetween(project("x", "y"), project("v", "w")).map(({ kind, after }) => `${kind} ${after ?? ""}`),
    ).toEqual(["path-moved /v1/general/v", "path-moved /v1/general/w"]);
  });

  it("pairs models by name where the dbt project was renamed", () => {
    const renamed = JSON.parse(
      JSON.stringify(manifestOf([model("a", "y")])).replaceAll("model.test.", "model.new."),
    );
    expect(changesBetween(manifestOf([model("a", "x")]), renamed).map(({ kind }) => kind)).toEqual([
      "path-moved",
    ]);
  });
});

describe("why an endpoint was removed", () => {
  const invalid = model("a", "x", { api: { methods: [] } });

  it("comes with the head's reasons", () => {
    const [change] = changesBetween(manifestOf([model("a", "x")]), manifestOf([invalid]));
    expect(change?.details[0]).toBe("The model is invalid, so it has no endpoint any more:");
    expect(change?.details[1]).toMatch(/^\$\.config\.meta\.api\.methods: /);
    expect(change?.file).toBe("models/a.sql");
  });

  it("names the model that has its new path", () => {
    const [change] = changesBetween(
      manifestOf([model("a", "z"), model("b", "x")]),
      manifestOf([model("a", "y"), model("b", "y")]),
    );
    expect(change?.kind).toBe("endpoint-removed");
    expect(change?.details.join(" ")).toContain("Another model has taken its path");
  });

  it("does not come from what another model of the head lacks", () => {
    const [change] = changesBetween(
      manifestOf([model("a", "x")]),
      manifestOf([{ ...invalid, name: "another_a" }]),
    );
    expect(change?.details).toEqual([]);
  });
});
