import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { catalogueOf } from "../../generator/catalogue/build.js";
import { entryText, hasSameEndpoints } from "../../generator/catalogue/catalogue-file.js";
import type { Catalogue } from "../../generator/catalogue/catalogue.js";
import type { KnownEntries } from "../../generator/catalogue/model-input.js";
import { EXIT } from "../../generator/commands/command.js";
import { generate } from "../../generator/commands/generate.js";
import { parseModels } from "../../generator/manifest/catalog.js";
import type { PublishRules } from "../../generator/manifest/publish-rules.js";
import { updateFolder } from "../../generator/output/folder.js";
import { readKept } from "../../generator/output/keeping.js";
import { render, renderBytes } from "../../generator/render/render.js";
import { withOwnDigest } from "../../runtime/core/model/digest.js";
import { catalogueOfText, manifestText } from "../catalogue/catalogues.js";
import { filesIn } from "../support/files.js";
import { ownFolder } from "../support/service.js";
import { change, CHANGES, type Project, starter, textsOf } from "./manifest-changes.js";

const TAGS = ["production", "shop", "api:a", "tier0"];

/** The catalogue of a project. */
function read(project: Project, known?: KnownEntries): Catalogue {
  const { manifest, catalog } = textsOf(project);
  const artifacts = {
    manifest: { text: manifest, location: "manifest.json" },
    catalog: { text: catalog, location: "catalog.json" },
    warnings: [],
  };
  const reading = parseModels(artifacts, project.publish as PublishRules);
  if (!reading.ok) throw new Error(reading.problems.join(" "));
  return catalogueOf(reading.value, { ...project.options, known });
}

/** Generates a folder as the command does. */
function generated(out: string, project: Project, version = "1.0.0") {
  const { found, ...keeping } = readKept(out, version);
  const catalogue = read(project, keeping.kept);
  const files = renderBytes(catalogue, { title: project.title, ...keeping });
  const update = updateFolder(files, { out, found, allowEmpty: true });
  if (!update.ok) throw new Error(update.problems.join(" "));
  return { catalogue, kept: keeping.kept };
}

/** What reports say of a catalogue, and its entries. */
function toldOf({ entries, skipped, warnings, lineage, marks, categories }: Catalogue) {
  return { entries: entries.map(entryText), skipped, warnings, lineage, marks, categories };
}

/** Expects the folder that is generated from nothing; of inputs the digests may be former ones. */
function expectFresh(out: string, project: Project, catalogue: Catalogue, version = "1.0.0"): void {
  const fresh = read(project);
  expect(toldOf(catalogue)).toEqual(toldOf(fresh));
  const { "catalogue.json": written = "", ...files } = filesIn(out);
  const options = { title: project.title, generator: version };
  const { "catalogue.json": wanted = "", ...others } = Object.fromEntries(render(fresh, options));
  expect(files).toEqual(others);
  const isSame = hasSameEndpoints(Buffer.from(written), Buffer.from(wanted));
  if (!isSame) expect(written).toBe(wanted);
}

/** The sequences of the random test; `KNOWN_SEQUENCES=1000` tries more. */
const SEQUENCES = Number(process.env["KNOWN_SEQUENCES"] ?? 2);

const step = fc.record({
  kinds: fc.array(fc.constantFrom(...CHANGES), { minLength: 1, maxLength: 3 }),
  place: fc.nat(1000),
  n: fc.nat(1000),
  version: fc.constantFrom("1.0.0", "1.0.0", "1.0.0", "1.0.0", "1.0.1"),
});

describe("entries of models that have not changed", () => {
  it("are those of a folder that is generated from nothing, after any changes of the project", () => {
    let [known, all] = [0, 0];
    fc.assert(
      fc.property(fc.array(step, { minLength: 3, maxLength: 8 }), (steps) => {
        const [out, project] = [ownFolder(), starter()];
        for (const { kinds, place, n, version } of [
          { kinds: [], place: 0, n: 0, version: "1.0.0" },
          ...steps,
        ]) {
          for (const kind of kinds) change(project, kind, place, n);
          const { catalogue, kept } = generated(out, project, version);
          known += catalogue.entries.filter((entry) => kept?.entryText(entry) !== undefined).length;
          all += catalogue.entries.length;
          expectFresh(out, project, catalogue, version);
        }
      }),
      { numRuns: SEQUENCES },
    );
    expect(all).toBeGreaterThan(SEQUENCES * 20);
    expect(known / all).toBeGreaterThan(0.1);
  });

  it("are those of a folder that is generated from nothing, after each kind of change", () => {
    const [out, project] = [ownFolder(), starter()];
    generated(out, project);
    CHANGES.forEach((kind, i) => {
      change(project, kind, i, i);
      expectFresh(out, project, generated(out, project).catalogue);
    });
  });

  it("have other paths where a second version of their model is published, and its own again after it", () => {
    const [out, project] = [ownFolder(), starter()];
    const versions = ["v1", "v2"].map((version) => `model.starter.orders.${version}`);
    const add = (id = "", version: number): void => {
      const model = { resource_type: "model", name: "orders", alias: id, schema: "s", version };
      const rest = { columns: {}, config: { meta: {} }, depends_on: { nodes: [] } };
      project.nodes[id] = { ...model, ...rest, latest_version: 2, tags: TAGS };
    };
    const paths = (): unknown => {
      const { catalogue } = generated(out, project);
      expectFresh(out, project, catalogue);
      return catalogue.entries
        .filter(({ uniqueId }) => versions.includes(uniqueId))
        .map(({ path, versionPath }) => [path, versionPath]);
    };
    add(versions[0], 1);
    const alone = paths();
    add(versions[1], 2);
    const both = paths();
    expect(both).not.toEqual(alone);
    expect(both).toHaveLength(2);
    Reflect.deleteProperty(project.nodes, versions[1] ?? "");
    expect(paths()).toEqual(alone);
  });

  it("are taken from the folder, unless it is of another version or its input has changed", () => {
    const [out, project] = [ownFolder(), starter()];
    generated(out, project);
    const before = filesIn(out);
    forge(out, '"description": "', '"description": "Forged: ');
    const known = generated(out, project).catalogue;
    expect(known.entries.filter(isForged).length).toBeGreaterThan(20);
    change(project, "description", 3, 1);
    const { entries } = generated(out, project).catalogue;
    expect(entries.filter(isForged).length).toBe(known.entries.filter(isForged).length - 1);
    for (const version of ["1.0.1", "1.0.0"]) generated(out, starter(), version);
    expect(filesIn(out)).toEqual(before);
  });

  it("do not follow from what dbt writes anew at each parse", () => {
    const [out, project] = [ownFolder(), starter()];
    generated(out, project);
    const before = filesIn(out);
    change(project, "parsedAgain", 0, 5);
    generated(out, project);
    expect(filesIn(out)).toEqual(before);
  });

  it("may be of another input for `--check`, and differ in nothing else", async () => {
    const [out, project] = [ownFolder(), starter()];
    const manifest = join(ownFolder(), "manifest.json");
    const run = async (check: boolean) => {
      writeFileSync(manifest, textsOf(project).manifest);
      const options = { manifest, out, check, defaultTier: "tier0", title: null } as const;
      return (await generate({ ...options, strict: false, json: false })).exit;
    };
    await run(false);
    const before = filesIn(out);
    for (const node of Object.values(project.nodes)) node.tags.push("daily");
    expect(await run(true)).toBe(EXIT.ok);
    forge(out, '"description": "', '"description": "Forged: ');
    expect(await run(true)).toBe(EXIT.findings);
    for (const node of Object.values(project.nodes)) node.tags.pop();
    expect(await run(true)).toBe(EXIT.findings);
    writeFileSync(
      join(out, "catalogue.json"),
      (before["catalogue.json"] ?? "").replace(/"digest": "./, '"digest": "'),
    );
    expect(await run(true)).toBe(EXIT.findings);
  });

  it("have no input where JSON lacks a number of theirs", () => {
    const read = (example: string) => {
      const column = `{"name": "x", "data_type": "double precision", "meta": {"routewright": {"example": ${example}}}}`;
      const nodes = {
        "model.t.a": { resource_type: "model", name: "a", schema: "s", tags: TAGS, columns: "COLUMNS" },
      };
      return catalogueOfText(manifestText(nodes).replace('"COLUMNS"', `{"x": ${column}}`)).inputs?.size;
    };
    expect([read("1.5"), read("NaN"), read("-Infinity")]).toEqual([1, 0, 0]);
  });

  it("have no input where a reading warns or another node says something of them", () => {
    const project = starter();
    const [first, second, third] = read(project).entries.map(({ uniqueId }) => uniqueId);
    const nodes = [first, second, third].map((id) => project.nodes[id ?? ""]);
    const [warned, below] = nodes;
    if (warned === undefined || below === undefined) throw new Error("no models");
    warned.config.meta["routewright"] = { colour: "red" };
    const [name = ""] = Object.keys(below.columns);
    const above = project.nodes[below.depends_on.nodes[0] ?? ""];
    if (above === undefined) throw new Error("no parent");
    above.columns[name] = { name, meta: { pii: true } };
    const { entries, inputs } = read(project);
    const without = entries.filter((entry) => !inputs?.has(entry)).map(({ uniqueId }) => uniqueId);
    expect(without).toEqual(expect.arrayContaining([first, second]));
    expect(without).not.toContain(third);
  });
});

/** Changes entries of a catalogue as if they had been generated. */
function forge(out: string, words: string, others: string): void {
  const file = join(out, "catalogue.json");
  writeFileSync(file, withOwnDigest(readFileSync(file, "utf8").replaceAll(words, others)));
}

function isForged({ description }: { readonly description: string }): boolean {
  return description.startsWith("Forged: ");
}
