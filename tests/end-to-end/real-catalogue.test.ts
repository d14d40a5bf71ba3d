import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Validator } from "@seriousme/openapi-schema-validator";
import { beforeAll, describe, expect, it } from "vitest";
import type { Catalogue } from "../../generator/catalogue/catalogue.js";
import { updateFolder } from "../../generator/output/folder.js";
import { type FileSet, render } from "../../generator/render/render.js";
import { catalogueOfText, pathsOf, told } from "../catalogue/catalogues.js";
import { complaintsOf } from "../render/compiler.js";
import { inObjectOrder, loadedEndpoints } from "../render/round-trip.js";
import { strayCode } from "../render/shape.js";
import { bikeShareManifest } from "../support/bike-share.js";
import { filesIn } from "../support/files.js";
import { addedLines, changedFiles } from "../support/line-diff.js";
import { ownFolder } from "../support/service.js";

/** Manifests of a public project, which are not ours to keep here: tested too where they are beside the clone. */
const SHARED = fileURLToPath(new URL("../../../shared/catalogue/", import.meta.url));
const real = (date: string) => (): string => readFileSync(join(SHARED, `manifest-${date}.json`), "utf8");

interface Counts {
  readonly endpoints: number;
  readonly invalid: number;
  readonly taken: number;
}

const MANIFESTS: readonly (readonly [name: string, read: () => string, counts: Counts])[] = [
  [
    "the small manifest of spring",
    () => JSON.stringify(bikeShareManifest("spring")),
    { endpoints: 23, invalid: 4, taken: 1 },
  ],
  [
    "the small manifest of autumn",
    () => JSON.stringify(bikeShareManifest("autumn")),
    { endpoints: 24, invalid: 4, taken: 1 },
  ],
  ...(existsSync(SHARED)
    ? ([
        ["the real manifest of 2026-04-24", real("2026-04-24"), { endpoints: 234, invalid: 22, taken: 17 }],
        ["the real manifest of 2026-05-21", real("2026-05-21"), { endpoints: 317, invalid: 69, taken: 17 }],
      ] as const)
    : []),
];

const ADDED = {
  resource_type: "model",
  name: "api_zz_added",
  schema: "dbt",
  original_file_path: "models/api_zz_added.sql",
  tags: ["production", "bridges", "api:zz_added", "granularity:daily", "tier3"],
  columns: { zz_day: { name: "zz_day", data_type: "Date", description: "Day of zz." } },
  config: { meta: { api: { methods: ["GET", "POST"], allow_unfiltered: true } } },
};

interface Generated {
  readonly text: string;
  readonly catalogue: Catalogue;
  readonly files: FileSet;
}

const generated = new Map<() => string, Generated>();

/** What a manifest is generated to, by its reader: the real ones take a second of a processor. */
function generatedFrom(read: () => string): Generated {
  const known = generated.get(read);
  if (known) return known;
  const text = read();
  const catalogue = catalogueOfText(text);
  const made = { text, catalogue, files: render(catalogue) };
  generated.set(read, made);
  return made;
}

describe.each(MANIFESTS)("%s", (_, read, counts) => {
  let text = "";
  let catalogue: Catalogue;
  let files: FileSet = new Map();
  beforeAll(() => {
    ({ text, catalogue, files } = generatedFrom(read));
  });

  it("publishes, refuses and leaves out as many models as were counted by hand", () => {
    const { entries, skipped } = catalogue;
    const count = (reason: string): number => skipped.filter((one) => one.reason === reason).length;
    expect({ endpoints: entries.length, invalid: count("invalid"), taken: count("path-taken") }).toEqual(
      counts,
    );
    expect(files.size).toBe(counts.endpoints + 4);
    expect(new Set(pathsOf(catalogue)).size).toBe(counts.endpoints);
  });

  it("reports every skipped model with its location, a message and what to do", () => {
    const refused = catalogue.skipped.filter(({ reason }) => reason !== "excluded");
    expect(refused).toHaveLength(counts.invalid + counts.taken);
    for (const { model, file, problems } of refused) {
      expect(model).toMatch(/^model\./);
      expect(file).toMatch(/\.sql$/);
      expect(problems.length).toBeGreaterThan(0);
      for (const line of told(problems)) expect(line).toMatch(/^\$\.\S+: .{10,}\.$/);
    }
  });

  it("renders to nothing but what a generated folder is", () => {
    expect(strayCode(files)).toEqual([]);
  });

  it("loads as the endpoints that it describes", async () => {
    const loaded = await loadedEndpoints(ownFolder(), files);
    expect(loaded.size).toBe(counts.endpoints);
    for (const endpoint of catalogue.entries)
      expect(loaded.get(endpoint.path)).toEqual(inObjectOrder(endpoint));
  });

  it("has a valid OpenAPI document, with an operation for each method of each endpoint", async () => {
    const document = JSON.parse(files.get("openapi.json") ?? "") as { paths: Record<string, object> };
    expect(await new Validator().validate(document)).toEqual({ valid: true });
    for (const endpoint of catalogue.entries) {
      const methods = endpoint.methods.map((method) => method.toLowerCase());
      expect(Object.keys(document.paths[endpoint.path] ?? {})).toEqual(methods);
    }
  });

  it("changes no byte and touches no file when it is generated from again", () => {
    const folder = ownFolder();
    updateFolder(files, { out: folder });
    const times = (): number[] =>
      Object.keys(filesIn(folder)).map((file) => statSync(join(folder, file)).mtimeMs);
    const before = times();
    const again = render(catalogueOfText(text));
    expect(again).toEqual(files);
    updateFolder(again, { out: folder });
    expect(times()).toEqual(before);
    expect(filesIn(folder)).toEqual(Object.fromEntries(files));
  });

  it("with one model more changes that model's file, and adds lines to the index and the OpenAPI document", () => {
    const manifest = JSON.parse(text) as { nodes: object };
    const nodes = { ...manifest.nodes, "model.zz.added": ADDED };
    const after = render(catalogueOfText(JSON.stringify({ ...manifest, nodes })));
    expect(changedFiles(files, after)).toEqual({
      added: ["routes/bridges/zz_added.daily.ts"],
      changed: ["catalogue.json", "index.ts", "lineage.json", "openapi.json"],
      removed: [],
    });
    expect(addedLines(files.get("index.ts") ?? "", after.get("index.ts") ?? "")).toHaveLength(2);
    const described = addedLines(files.get("openapi.json") ?? "", after.get("openapi.json") ?? "");
    expect(described?.join("\n")).toContain("zz_added");
    expect(described?.length).toBeLessThan(350);
  });
});

it("what they render to compiles under strict", () => {
  expect(complaintsOf(MANIFESTS.map(([, read]) => generatedFrom(read).files))).toEqual([]);
});
