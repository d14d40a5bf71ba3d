import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

/** The TypeScript files of a package, without build output. */
function filesOf(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return /^(dist|node_modules)$/.test(entry.name) ? [] : filesOf(path);
    return entry.name.endsWith(".ts") && entry.name !== "index.ts" ? [path] : [];
  });
}

function exportedTypesOf(file: string): string[] {
  const text = readFileSync(file, "utf8");
  const found = text.matchAll(/^export (?:abstract )?(?:interface|type|class|enum) (\w+)(?=[\s<{=])/gm);
  return [...found].map(([, name = ""]) => name);
}

function repeated(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, i) => names.indexOf(name) < i))];
}

describe.each(["generator", "runtime"])("the package %s", (folder) => {
  const files = filesOf(fileURLToPath(new URL(`../../${folder}`, import.meta.url)));

  it("exports no two types of the same name", () => {
    const types = files.flatMap(exportedTypesOf);
    expect(types.length).toBeGreaterThan(50);
    expect(repeated(types)).toEqual([]);
  });
});
