import { describe, expect, it } from "vitest";
import { defineEndpoint } from "../../runtime/data-api/define.js";
import type { FileSet } from "../../generator/render/render.js";
import { compareSnapshots } from "../../generator/diff/compare-snapshots.js";
import { readGenerated } from "../../generator/diff/sides/generated.js";
import { manifestOf } from "../support/manifest.js";
import { filesOf, modelWith, readBack, TODAY } from "./sides.js";

const api = {
  allow_unfiltered: true,
  parameters: [{ name: "b", column: "b", operator: "=", type: "string" }],
};
const files = filesOf(
  manifestOf([modelWith({ columns: { a: "int8", b: "text" }, api, description: "Volume." })]),
);
const MODULE = "routes/bridges/volume.ts";

/** The folder with one file changed, or taken away. */
function changed(file: string, change: (text: string) => string | undefined): FileSet {
  const text = change(files.get(file) ?? "");
  const others = [...files].filter(([name]) => name !== file);
  return new Map(text === undefined ? others : [...others, [file, text]]);
}

function problemsOf(folder: FileSet): string {
  const reading = readGenerated(folder, "generated");
  return reading.ok ? "none" : reading.problems.join("\n");
}

describe("a generated folder as a side", () => {
  it("is read without running a line of it", () => {
    const folder = changed(MODULE, (text) => text.replace("import {", "globalThis.didRun = true;\nimport {"));
    expect(readBack(folder).published[0]?.endpoint.path).toBe("/v1/bridges/volume");
    expect(globalThis).not.toHaveProperty("didRun");
  });

  it("is read with the line ends of Windows", () => {
    const folder = new Map([...files].map(([file, text]) => [file, text.replaceAll("\n", "\r\n")]));
    expect(readBack(folder)).toEqual(readBack(files));
  });

  it("counts only the modules that its index lists", () => {
    const folder = new Map([...files, ["routes/bridges/left_over.ts", files.get(MODULE) ?? ""]]);
    expect(readBack(folder).published).toHaveLength(1);
  });

  it("is compared without descriptions, and says so, where its OpenAPI document words them otherwise", () => {
    const { published, warnings } = readBack(
      changed("openapi.json", (text) => text.replaceAll("Access: ", "Tier: ")),
    );
    expect(published[0]?.documentation).toBeNull();
    expect(warnings).toEqual([
      "generated/openapi.json is another version's: the descriptions of 1 endpoints are not compared.",
    ]);
  });
});

it("what an endpoint is built from is no change to those who call it", () => {
  const before = changed(MODULE, rename("});", '  upstreamNodes: ["model.shop.a"],\n});'));
  const after = changed(MODULE, rename("});", '  upstreamNodes: ["model.shop.a", "model.shop.b"],\n});'));
  const sides = [files, before, after].map(readBack);
  for (const base of sides) {
    for (const head of sides) expect(compareSnapshots(base, head, TODAY)).toEqual([]);
  }
});

describe("what a declaration leaves out", () => {
  const spare = {
    model: "m",
    path: "/v1/a/b",
    tier: "tier1",
    relation: ["s", "m"],
    columns: { c: "text" },
  } as const;
  const parameters = { c: { column: "c", operator: "=", type: "string" } } as const;

  it.each([
    ["everything", spare],
    ["all but its parameters", { ...spare, parameters }],
    ["all but a filter", { ...spare, parameters: {}, allowUnfiltered: true }],
    ["all but its builds", { ...spare, upstreamNodes: ["model.shop.m", "seed.shop.s"] }],
  ])("has the default that the runtime gives it: %s", (_, declaration) => {
    const source = `export const { spec, get } = defineEndpoint<Query, Row>()(${JSON.stringify(declaration)});\n`;
    const [read] = readBack(changed(MODULE, () => source)).published;
    expect(read?.endpoint).toEqual(
      defineEndpoint<Record<"c", string>, Record<"c", string>>()(declaration).spec,
    );
  });
});

describe("a generated folder is refused", () => {
  it.each([
    ["without an index", "index.ts", () => undefined, "generated is not a generated folder"],
    ["without its OpenAPI document", "openapi.json", () => undefined, "generated is not a generated folder"],
    [
      "with an OpenAPI document that is no JSON",
      "openapi.json",
      () => "{",
      "generated/openapi.json is not JSON",
    ],
    ["with a list for an OpenAPI document", "openapi.json", () => "[]", "is not an OpenAPI document"],
    [
      "with an index that lists what it does not import",
      "index.ts",
      rename("[\n  v1", "[\n  w1"),
      "generated/index.ts is not as",
    ],
    [
      "with an index that computes its list",
      "index.ts",
      rename("= [", "= list([ "),
      "generated/index.ts is not as",
    ],
    [
      "with an index that leads out of the folder",
      "index.ts",
      rename("./routes", "../routes"),
      "generated/index.ts is not as",
    ],
    [
      "without a module that its index lists",
      MODULE,
      () => undefined,
      `generated/${MODULE} is missing, or a link`,
    ],
    [
      "with a call in a declaration",
      MODULE,
      rename('tier: "tier0"', 'tier: tierOf("x")'),
      "no plain declaration",
    ],
    ["with a template string in a declaration", MODULE, rename('"tier0"', "`tier0`"), "no plain declaration"],
    [
      "with a name twice in a declaration",
      MODULE,
      rename('tier: "tier0",', 'tier: "tier0", tier: "tier0",'),
      "no plain declaration",
    ],
    [
      "with code behind a declaration",
      MODULE,
      (text: string) => `${text}spec.tier = "tier3";\n`,
      "no plain declaration",
    ],
    ["with two declarations", MODULE, (text: string) => text + text, "no plain declaration"],
    ["with nesting without end", MODULE, rename('"tier0"', "[".repeat(100_000)), "no plain declaration"],
    [
      "with an unknown field",
      MODULE,
      rename('tier: "tier0"', 'tier: "tier0", "x\\u0007": 1'),
      'does not understand: "x\\u0007"',
    ],
    ["with an unknown tier", MODULE, rename('"tier0"', '"tier9"'), 'does not understand: "tier"'],
    [
      "with a parameter whose type is not its operator's",
      MODULE,
      rename('type: "string"', 'type: "date"'),
      '"parameters"',
    ],
    [
      "with builds that are no list of names",
      MODULE,
      rename("  tier:", "  upstreamNodes: [7],\n  tier:"),
      'does not understand: "upstreamNodes"',
    ],
    ["without a relation", MODULE, (text: string) => text.replace(/ {2}relation: .*\n/, ""), '"relation"'],
  ])("%s", (_, file, change, problem) => {
    expect(problemsOf(changed(file, change))).toContain(problem);
  });

  it("with two modules of one path", () => {
    const index = (files.get("index.ts") ?? "")
      .replace("import *", 'import * as twin from "./routes/twin.js";\nimport *')
      .replace("[\n", "[\n  twin,\n");
    const folder = new Map([...files, ["routes/twin.ts", files.get(MODULE) ?? ""], ["index.ts", index]]);
    expect(problemsOf(folder)).toContain('declares "/v1/bridges/volume" twice');
  });
});

function rename(from: string, to: string): (text: string) => string {
  return (text) => {
    expect(text).toContain(from);
    return text.replace(from, to);
  };
}
