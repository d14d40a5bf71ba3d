import { describe, expect, it } from "vitest";
import { catalogueOf } from "../../generator/catalogue/build.js";
import type { Catalogue } from "../../generator/catalogue/catalogue.js";
import { compareCatalogues } from "../../generator/diff/compare-catalogues.js";
import { parseManifest } from "../../generator/manifest/manifest.js";
import { inPay } from "../metrics/pay-tables.js";
import { CALENDAR } from "./catalogues.js";
import { placesIn } from "./aggregate-mutations.js";
import { EXPOSURE } from "../metrics/exposure-tables.js";

/** Changes of one value; `AGGREGATE_MUTATIONS=10000` for the full number. */
const MUTATIONS = Number(process.env["AGGREGATE_MUTATIONS"] ?? 300);
const SEED = Number(process.env["SEED"] ?? 1);

function catalogueOfText(text: string): Catalogue {
  const reading = parseManifest(text, "manifest.json");
  if (!reading.ok) throw new Error(reading.problems.join(" "));
  return catalogueOf(reading.value);
}

const catalogues = [
  ...["manifest.json", "manifest-newer-spec.json"].map((file) => catalogueOfText(inPay(file))),
  catalogueOfText(JSON.stringify(EXPOSURE)),
];
const entries = catalogues.flatMap((catalogue) =>
  catalogue.entries.filter(({ aggregate }) => aggregate !== undefined).map((entry) => ({ catalogue, entry })),
);

/** Park-Miller: the same numbers for a seed. */
function numbersOf(seed: number): (count: number) => number {
  let state = seed;
  return (count) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % count;
  };
}

describe("no value of an aggregate changes unnoticed", () => {
  it(`${String(MUTATIONS)} changes of one value are each reported`, () => {
    const pick = numbersOf(SEED);
    const unnoticed = new Set<string>();
    const kinds = new Set<string>();
    for (let i = 0; i < MUTATIONS; i++) {
      const { catalogue, entry } = entries[pick(entries.length)]!;
      const changed = structuredClone(entry);
      const places = placesIn(changed.aggregate);
      const { at, change } = places[pick(places.length)]!;
      change(pick);
      const found = compareCatalogues(
        { ...catalogue, entries: [entry] },
        { ...catalogue, entries: [changed] },
        CALENDAR,
      );
      for (const { kind } of found) kinds.add(kind);
      if (found.length === 0) unnoticed.add(`${at} of ${entry.path}`);
    }
    expect([...unnoticed].slice(0, 20)).toEqual([]);
  });
});
