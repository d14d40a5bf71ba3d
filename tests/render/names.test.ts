import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { moduleIdentifier, routeFile } from "../../generator/render/render.js";
import { catalogueFrom } from "../catalogue/catalogues.js";
import { entry } from "./openapi/catalogues.js";

/** A segment as a path may have it: of few characters, so that near misses are many. */
const segment = fc
  .array(fc.constantFrom("a", "A", "p", "d", "_", "-", ".", "1", "~"), { minLength: 1, maxLength: 4 })
  .map((characters) => characters.join("").replaceAll("~", ""))
  .filter((text) => text !== "" && text !== "." && text !== "..");
const path = fc
  .tuple(segment, fc.array(segment, { minLength: 1, maxLength: 3 }))
  .map(([category, rest]) => `/v1/${[category.toLowerCase(), ...rest].join("/")}`);
const pair = fc.tuple(path, path).filter(([a, b]) => a !== b);
const withPath = (text: string) => entry({ path: text });

describe("the file of a module", () => {
  it.each([
    ["/v1/bridges/volume", "routes/bridges/volume.ts"],
    ["/v1/bridges/volume/daily", "routes/bridges/volume.daily.ts"],
    ["/v1/bridges/volume/last_7d/7d", "routes/bridges/volume.last_7d.7d.ts"],
    ["/v1/bridges/volume.daily", "routes/bridges/volume~.daily.ts"],
    ["/v1/bridges/Volume", "routes/bridges/~volume.ts"],
    ["/v1/a.b/..c", "routes/a~.b/~.~.c.ts"],
    ["/v1/bridges/volume/d", "routes/bridges/volume.d~.ts"],
    ["/v1/bridges/d", "routes/bridges/d.ts"],
    ["/v1/node_modules/con/daily", "routes/node_modules~/con~.daily.ts"],
    ["/v1/dist/aux", "routes/dist~/aux~.ts"],
    ["/v1/nul/build", "routes/nul~/build~.ts"],
  ])("of %s is %s", (text, file) => {
    expect(routeFile(withPath(text))).toBe(file);
  });

  it("is no other path's, even where capitals and small letters are the same", () => {
    fc.assert(
      fc.property(pair, ([a, b]) => {
        expect(routeFile(withPath(a)).toLowerCase()).not.toBe(routeFile(withPath(b)).toLowerCase());
      }),
      { numRuns: 2000 },
    );
  });

  it("is no declaration file, and stays apart from a path of capitals", () => {
    for (const text of ["/v1/c/x/d", "/v1/c/d/d", "/v1/c/x/y/d"])
      expect(routeFile(withPath(text))).not.toMatch(/\.d\.ts$/);
    expect(routeFile(withPath("/v1/c/Con"))).not.toBe(routeFile(withPath("/v1/c/con")));
  });

  it("never leaves its folder, nor hides in it", () => {
    fc.assert(
      fc.property(path, (text) => {
        expect(routeFile(withPath(text))).toMatch(/^routes\/[^/.][^/]*\/[^/.][^/]*\.ts$/);
      }),
    );
  });

  it("has a name that file systems take, for the longest segments there may be", () => {
    for (const longest of ["x".repeat(80), "X".repeat(40), ".".repeat(40)]) {
      const tags = [
        "production",
        longest,
        `api:${longest}`,
        `granularity:a${longest.slice(1)}`,
        `window:${longest}`,
      ];
      const [found] = catalogueFrom([{ name: "a", tags }]).entries;
      if (!found) throw new Error("not published");
      for (const part of routeFile(found).split("/")) expect(part.length).toBeLessThanOrEqual(255);
    }
  });
});

describe("the identifier of a module", () => {
  it("is one, and no other path's", () => {
    fc.assert(
      fc.property(pair, ([a, b]) => {
        expect(moduleIdentifier(withPath(a))).toMatch(/^v1[\w$]*$/);
        expect(moduleIdentifier(withPath(a))).not.toBe(moduleIdentifier(withPath(b)));
      }),
      { numRuns: 2000 },
    );
  });

  it("names the path where that is unambiguous", () => {
    expect(moduleIdentifier(withPath("/v1/bridges/volume/last_7d"))).toBe("v1$bridges$volume$last_7d");
  });
});
