import { describe, expect, it } from "vitest";
import { compareSnapshots } from "../../generator/diff/compare-snapshots.js";
import { manifestOf, type TestModel } from "../support/manifest.js";
import { changesBetween, filesOf, readBack, snapshotFrom, TODAY } from "./sides.js";

function model(name: string, resource: string, more: Partial<TestModel> = {}): TestModel {
  return { name, tags: ["production", `api:${resource}`], columns: { a: "UInt8" }, ...more };
}

/** Kind, path and what it becomes. */
function told(base: readonly TestModel[], head: readonly TestModel[]): readonly string[] {
  return compareSnapshots(snapshotFrom(manifestOf(base)), snapshotFrom(manifestOf(head)), TODAY).map(
    ({ kind, endpoint, after }) => `${kind} ${endpoint} ${after ?? ""}`.trim(),
  );
}

describe("which endpoint is which", () => {
  it("a model under a new path has moved, and what else changed is told at the old path", () => {
    expect(told([model("a", "x")], [model("a", "y", { columns: {} })])).toEqual([
      "column-removed /v1/general/x",
      "path-moved /v1/general/x /v1/general/y",
    ]);
  });

  it("two models that swap their paths are served from one another: nobody has moved", () => {
    const swapped = told([model("a", "x"), model("b", "y")], [model("a", "y"), model("b", "x")]);
    expect(swapped.map((change) => change.split(" ", 2).join(" "))).toEqual([
      "model-changed /v1/general/x",
      "model-changed /v1/general/y",
    ]);
  });

  it("a path that another model takes over is not removed, and the new path of the old model is added", () => {
    const [taken, added] = told([model("a", "x")], [model("a", "y"), model("b", "x")]);
    expect(taken).toContain("model-changed /v1/general/x");
    expect(added).toBe("endpoint-added /v1/general/y /v1/general/y");
  });

  it("a renamed model under a new path is another endpoint", () => {
    expect(told([model("a", "x")], [model("b", "y")])).toEqual([
      "endpoint-removed /v1/general/x",
      "endpoint-added /v1/general/y /v1/general/y",
    ]);
  });

  it("models of one name in two packages are told apart by dbt's id, and not guessed at without it", () => {
    const side = (first: string, second: string) => {
      const json = manifestOf([model("p", first), model("q", second)]) as { nodes: Record<string, object> };
      for (const node of Object.values(json.nodes)) Object.assign(node, { name: "same" });
      return json;
    };
    const [base, head] = [side("x", "y"), side("v", "w")];
    const kinds = (changes: ReturnType<typeof compareSnapshots>) =>
      changes.map(({ kind, after }) => `${kind} ${after ?? ""}`);
    expect(kinds(compareSnapshots(snapshotFrom(base), snapshotFrom(head), TODAY))).toEqual([
      "path-moved /v1/general/v",
      "path-moved /v1/general/w",
    ]);
    const folder = readBack(filesOf(base));
    expect(kinds(compareSnapshots(folder, snapshotFrom(head), TODAY))).toEqual([
      "endpoint-removed ",
      "endpoint-removed ",
      "endpoint-added /v1/general/v",
      "endpoint-added /v1/general/w",
    ]);
  });
});

describe("why an endpoint is gone", () => {
  const invalid = model("a", "x", { api: { methods: [] } });

  it.each([
    ["a manifest", snapshotFrom(manifestOf([model("a", "x")]))],
    ["a generated folder", readBack(filesOf(manifestOf([model("a", "x")])))],
  ])("is told with the head's reasons, from %s", (_, base) => {
    const [change] = compareSnapshots(base, snapshotFrom(manifestOf([invalid])), TODAY);
    expect(change?.details[0]).toBe("The model is invalid, so it has no endpoint any more:");
    expect(change?.details[1]).toMatch(/^\$\.config\.meta\.api\.methods: /);
    expect(change?.file).toBe("models/a.sql");
  });

  it("is told where another model has its new path", () => {
    const head = snapshotFrom(manifestOf([model("a", "y"), model("b", "y")]));
    const [change] = compareSnapshots(
      snapshotFrom(manifestOf([model("a", "z"), model("b", "x")])),
      head,
      TODAY,
    );
    expect(change?.kind).toBe("endpoint-removed");
    expect(change?.details.join(" ")).toContain("Another model has taken its path");
  });

  it("is nothing of what another model of the head lacks", () => {
    const head = snapshotFrom(manifestOf([{ ...invalid, name: "another_a" }]));
    expect(compareSnapshots(snapshotFrom(manifestOf([model("a", "x")])), head, TODAY)[0]?.details).toEqual(
      [],
    );
  });
});

describe("filters that are required", () => {
  const parameter = (name: string) => ({ name, column: name, operator: "=", type: "string" });
  const columns = { a: "String", b: "String" };
  const both = { parameters: [parameter("a"), parameter("b")] };
  const between = (base: object, head: object): readonly string[] =>
    changesBetween(
      [model("m", "x", { columns, api: { ...both, ...base } })],
      [model("m", "x", { columns, api: { ...both, ...head } })],
    );

  it.each([
    [
      "the list is added where any filter would do",
      {},
      { require_any_of: ["a"] },
      ["require-any-of-added require_any_of"],
    ],
    ["the list names all that were asked for anyway", {}, { require_any_of: ["b", "a"] }, []],
    ["the list is reordered", { require_any_of: ["a", "b"] }, { require_any_of: ["b", "a"] }, []],
    [
      "one name stands for another",
      { require_any_of: ["a"] },
      { require_any_of: ["b"] },
      ["require-any-of-narrowed require_any_of"],
    ],
    [
      "allow_unfiltered goes beside a list",
      { require_any_of: ["a"], allow_unfiltered: true },
      { require_any_of: ["a"] },
      [],
    ],
    [
      "both come at once",
      { allow_unfiltered: true },
      { require_any_of: ["a"] },
      ["require-any-of-added require_any_of", "unfiltered-refused allow_unfiltered"],
    ],
    [
      "both go at once",
      { require_any_of: ["a"] },
      { allow_unfiltered: true },
      ["require-any-of-loosened require_any_of", "unfiltered-allowed allow_unfiltered"],
    ],
  ])("%s", (_, base, head, expected) => {
    expect(between(base, head)).toEqual(expected);
  });
});

describe("parameters that are gone", () => {
  const parameter = (name: string, column = "a") => ({ name, column, operator: "=", type: "string" });
  const between = (base: readonly object[], head: readonly object[]): readonly string[] => {
    const sides = [base, head].map((parameters) => [
      model("m", "x", { columns: { a: "String", b: "String" }, api: { allow_unfiltered: true, parameters } }),
    ]);
    return changesBetween(sides[0] ?? [], sides[1] ?? []);
  };

  it("have a new name once, even if two of them filter alike", () => {
    expect(between([parameter("p"), parameter("q")], [parameter("r")])).toEqual([
      "parameter-removed q",
      "parameter-renamed p",
    ]);
  });

  it("are not renamed to one that filters another column, or that was there before", () => {
    expect(between([parameter("p")], [parameter("r", "b")])).toEqual([
      "parameter-removed p",
      "parameter-added r",
    ]);
    expect(between([parameter("p"), parameter("r")], [parameter("r")])).toEqual(["parameter-removed p"]);
  });
});
