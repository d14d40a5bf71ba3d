import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

/** Types that several files name alike because they are the same: the flags of each command, and the sides of a filter on each engine. */
const SAME_IDEA: ReadonlySet<string> = new Set(["Flags", "FilterSide"]);

/** Local types that may share a name: the two are never read together. */
const MOST_SHARED = 18;

/** The TypeScript files of a package, without build output. */
function filesOf(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return /^(dist|node_modules)$/.test(entry.name) ? [] : filesOf(path);
    return entry.name.endsWith(".ts") && entry.name !== "index.ts" ? [path] : [];
  });
}

function typesOf(file: string, isExported: boolean): string[] {
  const declared = /^(export )?(?:abstract )?(?:interface|type|class|enum) (\w+)(?=[\s<{=])/gm;
  const found = [...readFileSync(file, "utf8").matchAll(declared)];
  return found.flatMap(([, mark, name = ""]) => (mark === undefined && isExported ? [] : [name]));
}

function repeated(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, i) => names.indexOf(name) < i))];
}

const files = ["generator", "runtime"].flatMap((folder) =>
  filesOf(fileURLToPath(new URL(`../../${folder}`, import.meta.url))),
);

it("exports no two types of the same name from the packages", () => {
  const types = files.flatMap((file) => typesOf(file, true));
  expect(types.length).toBeGreaterThan(500);
  expect(repeated(types)).toEqual([]);
});

it("has few names with two meanings, local types included", () => {
  const types = files.flatMap((file) => [...new Set(typesOf(file, false))]);
  const shared = repeated(types).filter((name) => !SAME_IDEA.has(name));
  expect(shared.length, shared.join(", ")).toBeLessThanOrEqual(MOST_SHARED);
});
