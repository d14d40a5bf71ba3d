import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { removeStale } from "../../scripts/stale.js";
import { ownFolder } from "../support/service.js";

it("a build removes what was compiled of sources that are gone, with folders that get empty, and nothing else", () => {
  const folder = ownFolder();
  const write = (file: string): void => {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), "");
  };
  const kept = ["kept/file.js", "kept/file.d.ts", "bundle.js", "assets/deep/page.js", "other/schema.json"];
  const stale = ["kept/gone.js", "kept/gone.js.map", "gone/deep/file.d.ts", "gone/deep/file.js"];
  for (const file of [...kept, ...stale]) write(`dist/${file}`);
  write("kept/file.ts");
  removeStale(folder, join(folder, "dist"), ["assets", "bundle.js"]);
  const left = readdirSync(join(folder, "dist"), { recursive: true, encoding: "utf8" });
  expect(left.filter((file) => /\.(ts|js|map|json)$/.test(file)).sort()).toEqual([...kept].sort());
  expect(left).not.toContain("gone");
});
