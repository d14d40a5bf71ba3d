import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Catalogue } from "../../generator/catalogue/catalogue.js";
import { updateFolder } from "../../generator/output/folder.js";
import { readKept } from "../../generator/output/keeping.js";
import { render } from "../../generator/render/render.js";
import { digestOf, withOwnDigest } from "../../runtime/core/model/digest.js";
import { catalogueOfText, manifestText } from "../catalogue/catalogues.js";
import { filesIn } from "../support/files.js";
import { ownFolder } from "../support/service.js";
import { soundNodes } from "./manifests.js";

interface Options {
  readonly title?: string | null;
  readonly check?: boolean;
}

/** As `generate` writes a folder; returns the files that differed. */
function generated(out: string, catalogue: Catalogue, version: string, { check, ...options }: Options = {}) {
  const { found, ...keeping } = readKept(out, version, check);
  const files = render(catalogue, { ...options, ...keeping });
  const update = updateFolder(files, { out, found, check: check ?? false, allowEmpty: true });
  if (!update.ok) throw new Error(update.problems.join(" "));
  return update.value.map(({ file }) => file);
}

/** What a folder holds that nothing was kept of. */
function fromNothing(catalogue: Catalogue, generator: string, options: Options = {}): object {
  return Object.fromEntries(render(catalogue, { ...options, generator }));
}

/** Manifests of which each has an endpoint: of the goldens and the starter. */
const MANIFESTS = [
  "templates/starter/manifest.json",
  ...readdirSync("tests/golden").map((name) => `tests/golden/${name}/manifest.json`),
].flatMap((file) => {
  try {
    const catalogue = catalogueOfText(readFileSync(resolve(file), "utf8"));
    return catalogue.entries.length === 0 ? [] : [[file, catalogue] as const];
  } catch {
    return [];
  }
});

const STARTER = catalogueOfText(readFileSync("templates/starter/manifest.json", "utf8"));

/** The catalogue without every second endpoint, and with other words in every third. */
function changed(catalogue: Catalogue): Catalogue {
  const entries = catalogue.entries
    .map((entry, i) => (i % 3 === 0 ? { ...entry, description: `${entry.description} Changed.` } : entry))
    .filter((_, i) => i % 2 === 0);
  return { ...catalogue, entries };
}

const DAMAGES = [
  "nothing",
  "a file is gone",
  "a file ends with more",
  "a file ends early",
  "a file has other line ends",
  "no catalogue",
  "a word is changed",
] as const;
type Damage = (typeof DAMAGES)[number];

const EDITS: Readonly<Record<Exclude<Damage, "nothing" | "a file is gone" | "no catalogue">, Edit>> = {
  "a file ends with more": (text) => `${text}\n`,
  "a file ends early": (text) => text.slice(0, Math.ceil(text.length * 0.7)),
  "a file has other line ends": (text) => text.replaceAll("\n", "\r\n"),
  "a word is changed": (text) => text.replace("description", "inscription").replace("Row", "Raw"),
};
type Edit = (text: string) => string;

/** Damages the file that comes at `place` of all. */
function damaged(out: string, damage: Damage, place: number): void {
  const files = Object.keys(filesIn(out));
  const file = join(out, damage === "no catalogue" ? "catalogue.json" : (files[place % files.length] ?? ""));
  if (files.length === 0 || damage === "nothing") return;
  if (damage === "a file is gone" || damage === "no catalogue") rmSync(file, { force: true });
  else writeFileSync(file, EDITS[damage](readFileSync(file, "utf8")));
}

/** The sequences of the random test; `KEPT_SEQUENCES=1000` tries more. */
const SEQUENCES = Number(process.env["KEPT_SEQUENCES"] ?? 25);

const step = fc.record({
  /** Which nodes are left out, and which have other words. */
  without: fc.nat(63),
  changed: fc.nat(63),
  version: fc.constantFrom("1.0.0", "1.0.0", "1.0.0", "1.0.1"),
  title: fc.constantFrom(null, null, "Shop"),
  damage: fc.constantFrom("nothing" as const, ...DAMAGES),
  place: fc.nat(1000),
});

describe("a folder that is generated again", () => {
  it("gets the bytes of one that is generated from nothing: goldens and starter", () => {
    expect(MANIFESTS.length).toBeGreaterThan(15);
    for (const [file, catalogue] of MANIFESTS) {
      const out = ownFolder();
      for (const each of [catalogue, changed(catalogue), catalogue]) {
        generated(out, each, "1.0.0");
        expect(filesIn(out), file).toEqual(fromNothing(each, "1.0.0"));
      }
    }
  });

  it("gets the bytes of one that is generated from nothing after any changes", () => {
    fc.assert(
      fc.property(soundNodes, fc.array(step, { minLength: 2, maxLength: 5 }), (nodes, steps) => {
        const out = ownFolder();
        for (const { without, changed, version, title, damage, place } of steps) {
          const some = Object.entries(nodes).flatMap(([id, node], i) => {
            const words = ((changed >> i) & 1) === 1 ? { description: "Other words." } : {};
            return ((without >> i) & 1) === 1 ? [] : [[id, { ...node, ...words }]];
          });
          const catalogue = catalogueOfText(manifestText(Object.fromEntries(some)));
          generated(out, catalogue, version, { title });
          expect(filesIn(out)).toEqual(fromNothing(catalogue, version, { title }));
          damaged(out, damage, place);
        }
      }),
      { numRuns: SEQUENCES },
    );
  });

  it("renders the row of an unchanged endpoint again whose column refers to another, which has changed", () => {
    const [first, second, ...others] = STARTER.entries;
    const column = first?.columns[0]?.name;
    if (first === undefined || second === undefined || column === undefined) throw new Error("no columns");
    const columns = second.columns.map((each) => ({ ...each, references: `${first.model}.${column}` }));
    const referring = { ...second, columns, tier: "tier2" as const };
    const out = ownFolder();
    for (const tier of ["tier3", "tier1"] as const) {
      const each = { ...STARTER, entries: [{ ...first, tier }, referring, ...others] };
      generated(out, each, "1.0.0");
      expect(filesIn(out)).toEqual(fromNothing(each, "1.0.0"));
    }
  });

  it("keeps what the catalogue lists, unless it is checked or of another version", () => {
    const out = ownFolder();
    generated(out, STARTER, "1.0.0");
    const before = filesIn(out);
    const edited = forged(out, (file) => file.startsWith("routes/"));
    expect(edited.length).toBeGreaterThan(5);
    expect(generated(out, STARTER, "1.0.0")).toEqual([]);
    expect(generated(out, STARTER, "1.0.0", { check: true })).toEqual(["catalogue.json", ...edited]);
    // Of a changed endpoint nothing is kept.
    generated(out, changed(STARTER), "1.0.0");
    generated(out, STARTER, "1.0.1");
    generated(out, STARTER, "1.0.0");
    expect(filesIn(out)).toEqual(before);
  });

  it("keeps the operations of unchanged endpoints, and no others", () => {
    const out = ownFolder();
    generated(out, STARTER, "1.0.0");
    forged(
      out,
      (file) => file === "openapi.json",
      (text) => text.replaceAll("Access: tier", "Kept access: tier"),
    );
    const other = changed(STARTER);
    generated(out, other, "1.0.0");
    const { paths } = JSON.parse(readFileSync(join(out, "openapi.json"), "utf8")) as { paths: object };
    const kept = Object.entries(paths).filter(([, item]) => JSON.stringify(item).includes("Kept access"));
    const unchanged = other.entries.filter((entry) => STARTER.entries.includes(entry));
    expect(kept.map(([path]) => path)).toEqual(unchanged.map(({ path }) => path));
    expect(unchanged.length).toBeGreaterThan(2);
  });
});

/** Files with a further line, which the catalogue lists as if they had been generated: nobody can tell but by rendering them. */
function forged(
  out: string,
  isMeant: (file: string) => boolean,
  edit: Edit = (text) => `${text}// kept\n`,
): readonly string[] {
  const names = Object.keys(filesIn(out)).filter(isMeant);
  const catalogue = join(out, "catalogue.json");
  let text = readFileSync(catalogue, "utf8");
  for (const name of names) {
    const before = readFileSync(join(out, name), "utf8");
    writeFileSync(join(out, name), edit(before));
    text = text.replace(digestOf(before), digestOf(edit(before)));
  }
  writeFileSync(catalogue, withOwnDigest(text));
  return names;
}
