import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { updateFolder } from "../../generator/output/folder.js";
import { render } from "../../generator/render/render.js";
import { catalogueOfText } from "../catalogue/catalogues.js";
import { filesIn } from "../support/files.js";
import { ownFolder } from "../support/service.js";
import { complaintsOf } from "./compiler.js";
import { inObjectOrder, loadedEndpoints } from "./round-trip.js";
import { strayCode } from "./shape.js";
import { HOSTILE } from "./words.js";

/** A model with this word wherever an author can write one. */
function modelOf(word: string, tags: readonly string[]): object {
  const other = `${word} other`;
  const column = (name: string, type: string) => [name, { name, data_type: type, description: word }];
  const api = {
    methods: ["GET", "POST"],
    parameters: [
      {
        name: word || "empty",
        column: word || "empty",
        operator: "IN",
        type: "string_list",
        description: word,
        max_items: 3,
      },
      { name: other, column: other, operator: "=", type: "string", description: word, case: "lower" },
    ],
    require_any_of: [word || "empty"],
    pagination: { enabled: true, default_limit: 1, max_limit: 2, response: "envelope" },
    sort: [{ column: other, direction: "DESC" }],
    sortable_fields: [word || "empty", other],
    [word]: word,
  };
  return {
    resource_type: "model",
    name: word,
    alias: word,
    schema: word,
    description: word,
    original_file_path: word,
    tags,
    columns: Object.fromEntries([
      column(word || "empty", word),
      column(other, `Enum8('${word}' = 1, 'b' = 2)`),
      column(`${word} tuple`, `Tuple(\`${word}\` String, b Array(Nullable(${word})))`),
    ]),
    config: { meta: { api } },
  };
}

function manifestText(nodes: Iterable<readonly [string, object]>): string {
  const metadata = { dbt_schema_version: "https://schemas.getdbt.com/dbt/manifest/v12.json" };
  return JSON.stringify({ metadata, nodes: Object.fromEntries(nodes) });
}

describe("a manifest of hostile words", () => {
  const named = HOSTILE.map((word, i) => {
    const tags = ["production", "c", `api:r${String(i)}`, word.includes(":") ? "x" : `owner:${word}`];
    return [`model.${String(i)}.${word}`, modelOf(word, tags)] as const;
  });
  const catalogue = catalogueOfText(manifestText(named));
  const files = render(catalogue);

  it("publishes every model but those whose relation cannot be", () => {
    const impossible = HOSTILE.filter((word) => word === "" || word.includes("\0"));
    expect(catalogue.skipped.map(({ reason }) => reason)).toEqual(impossible.map(() => "invalid"));
    expect(catalogue.entries).toHaveLength(HOSTILE.length - impossible.length);
  });

  it("renders to modules with the import, two interfaces and one endpoint of plain values each", () => {
    expect(strayCode(files)).toEqual([]);
  });

  it("compiles under strict, with a compiler that reports errors", () => {
    const wrong = new Map([...files].map(([file, text]) => [file, text.replace('tier: "tier0"', "tier: 0")]));
    const [ofRight, ofWrong] = [files, wrong].map((one) => complaintsOf([one]));
    expect(ofRight).toEqual([]);
    expect(new Set(ofWrong?.map((problem) => problem.split(":")[0])).size).toBe(catalogue.entries.length);
  });

  it("loads as the endpoints that it describes", async () => {
    const loaded = await loadedEndpoints(ownFolder(), files);
    expect(loaded.size).toBe(catalogue.entries.length);
    for (const { endpoint } of catalogue.entries) {
      expect(loaded.get(endpoint.path)).toEqual(inObjectOrder(endpoint));
    }
  });

  it("is the same once read back from disk, so that a second run finds nothing to do", () => {
    const folder = join(ownFolder(), "generated");
    updateFolder(files, { out: folder });
    expect(filesIn(folder)).toEqual(Object.fromEntries(files));
    expect(updateFolder(render(catalogue), { out: folder, check: true })).toEqual({ ok: true, drift: [] });
  });
});

describe("a hostile tag", () => {
  it.each(HOSTILE.map((word) => [word]))("%j reaches neither a path nor a file", (word) => {
    const kinds = [
      ["production", word, "api:r"],
      ["production", "c", `api:${word}`],
      ["production", "c", "api:r", `granularity:${word}`],
      ["production", "c", "api:r", `window:${word}`],
    ];
    const nodes = kinds.map(
      (tags, i) => [`model.${String(i)}`, { resource_type: "model", name: "a", schema: "s", tags }] as const,
    );
    const files = render(catalogueOfText(manifestText(nodes)));
    expect(strayCode(files)).toEqual([]);
    for (const file of files.keys())
      expect(file).toMatch(
        /^(index\.ts|(openapi|catalogue|lineage)\.json|routes\/[\w~-]+[\w~.-]*\/[\w~-]+[\w~.-]*\.ts)$/,
      );
  });
});
