import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type CatalogueOptions, catalogueOf } from "../../generator/catalogue/build.js";
import { type FileSet, render } from "../../generator/render/render.js";
import { parseManifest } from "../../generator/manifest/manifest.js";
import { catalogueOfText, manifestText, told } from "../catalogue/catalogues.js";
import { ownFolder } from "../support/service.js";
import { complaintsOf } from "./compiler.js";
import { anyManifest, halfFormedNodes, soundNodes } from "./manifests.js";
import { inObjectOrder, loadedEndpoints } from "./round-trip.js";
import { strayCode } from "./shape.js";

/** From the text of a manifest to the files, or the one line that says why there are none. */
function filesOf(text: string, options: CatalogueOptions = {}): FileSet | string {
  const reading = parseManifest(text, "manifest.json");
  return reading.ok ? render(catalogueOf(reading.value, options)) : reading.problems.join(" ");
}

const text = fc.oneof(
  soundNodes.map((nodes) => manifestText(nodes)),
  halfFormedNodes.map((nodes) => manifestText(nodes, "clickhouse")),
  anyManifest,
);

/** `RANDOM_MANIFESTS=10` tries ten times as many. */
const TIMES = Number(process.env["RANDOM_MANIFESTS"] ?? 1);

describe("any manifest", () => {
  it("renders to nothing but what a generated folder is, or is refused in one line", () => {
    fc.assert(
      fc.property(text, (one) => {
        const files = filesOf(one);
        if (typeof files === "string") expect(files).toMatch(/^manifest\.json is not .+$/s);
        else expect(strayCode(files)).toEqual([]);
      }),
      { numRuns: 100 * TIMES },
    );
  });

  it("has a message and a hint for each problem of each model", () => {
    fc.assert(
      fc.property(halfFormedNodes, (nodes) => {
        for (const { reason, problems } of catalogueOfText(manifestText(nodes)).skipped) {
          expect(told(problems).every((line) => /^\$.*: .+\.$/s.test(line))).toBe(true);
          expect(problems.length > 0).toBe(reason !== "excluded");
        }
      }),
      { numRuns: 75 * TIMES },
    );
  });

  it("gives the same bytes twice, whatever the order of its nodes", () => {
    const shuffled = soundNodes.chain((nodes) =>
      fc
        .shuffledSubarray(Object.entries(nodes), { minLength: Object.keys(nodes).length })
        .map((all) => [nodes, Object.fromEntries(all)]),
    );
    fc.assert(
      fc.property(shuffled, ([nodes, others]) => {
        const files = filesOf(manifestText(nodes));
        expect(filesOf(manifestText(nodes))).toEqual(files);
        expect(filesOf(manifestText(others))).toEqual(files);
      }),
      { numRuns: 25 * TIMES },
    );
  });
});

describe("a sample of manifests whose models are sound", () => {
  const texts = fc.sample(soundNodes, { numRuns: 40, seed: 7 }).map((nodes) => manifestText(nodes));
  const catalogues = texts.map((one) => catalogueOfText(one));

  it("publishes every model but for a path that is taken and a relation that cannot be", () => {
    const published = catalogues.flatMap(({ entries }) => entries);
    const problems = catalogues.flatMap(({ skipped }) => skipped.flatMap((one) => one.problems));
    expect(published.length).toBeGreaterThan(60);
    const paths = catalogues.flatMap(({ lineage }) => [...lineage.upstreamNodes.keys()]);
    expect(paths.length).toBeGreaterThan(20);
    // A date filter or a sort key may meet a column of another type.
    const ofTypes =
      /^\$\.config\.meta\.api\.(parameters\[\d\]\.type|sort\[\d\]\.column|sortable_fields\[\d\])$/;
    for (const { path } of problems)
      expect(["$.tags", "$.schema", "$.alias"].includes(path) || ofTypes.test(path), path).toBe(true);
  });

  it("compiles under strict", () => {
    expect(complaintsOf(catalogues.map((one) => render(one)))).toEqual([]);
  });

  it("loads as the endpoints that it describes", async () => {
    for (const catalogue of catalogues) {
      const loaded = await loadedEndpoints(ownFolder(), render(catalogue));
      const expected = catalogue.entries.map((endpoint) => [endpoint.path, inObjectOrder(endpoint)] as const);
      expect(loaded).toEqual(new Map(expected));
    }
  });
});
