import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { catalogueOf } from "../../generator/catalogue/build.js";
import { parseManifest } from "../../generator/manifest/manifest.js";
import { render, renderCached } from "../../generator/render/render.js";

const GOLDEN = new URL("../golden/", import.meta.url);

function catalogueFrom(text: string) {
  const reading = parseManifest(text, "manifest.json");
  if (!reading.ok) throw new Error(reading.problem);
  return catalogueOf(reading.manifest);
}

const textOf = (name: string): string => readFileSync(new URL(`${name}/manifest.json`, GOLDEN), "utf8");
const NAMES = readdirSync(GOLDEN).filter((name) => name !== "not-a-manifest" && name !== "unknown-version");

describe("the cache of a rendering", () => {
  it.each(NAMES)("changes nothing of the next one: %s", (name) => {
    const catalogue = catalogueFrom(textOf(name));
    const { cache } = renderCached(catalogue);
    expect(renderCached(catalogue, { cache }).files).toEqual(render(catalogue));
  });

  it("is not used for an endpoint of which anything changed", () => {
    const text = textOf("every-operator");
    const { cache } = renderCached(catalogueFrom(text));
    const words = new Set(text.match(/(?<="description": ")[^"]+/g));
    expect(words.size).toBeGreaterThan(0);
    for (const description of words) {
      const changed = catalogueFrom(text.replaceAll(`"${description}"`, '"Another text."'));
      expect(renderCached(changed, { cache }).files).toEqual(render(changed));
    }
  });
});
