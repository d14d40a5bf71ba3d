/** What is kept of a folder goes by the code that wrote it: two clones of one version may differ. */
import { execFileSync } from "node:child_process";
import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { digestOf, withOwnDigest } from "../../runtime/core/model/digest.js";
import { ownFolder } from "../support/service.js";
import { GOOD, project } from "../commands/run.js";

/** The compiled command line in a folder of its own, with further files; returns its program. */
function clone(more: Readonly<Record<string, string>> = {}): string {
  const folder = ownFolder();
  for (const name of ["bin", "dist", "package.json"])
    cpSync(join("generator", name), join(folder, name), { recursive: true });
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
  for (const [file, text] of Object.entries(more)) writeFileSync(join(folder, "dist", file), text);
  return join(folder, "bin/routewright.js");
}

it("a module of other code of the same version is rendered again, one of its own code is kept", () => {
  const folder = project(GOOD);
  const generate = (program: string): unknown => {
    const args = [program, "generate", "--manifest", "manifest.json", "--json"];
    return JSON.parse(execFileSync(process.execPath, args, { cwd: folder, encoding: "utf8" }));
  };
  const [own, other] = [clone(), clone({ "chunks/other-ABCDEFGH.js": "// Other code.\n" })];
  generate(own);
  // As if it had printed another line, of the same entry.
  const module = join(folder, "generated/routes/bridges/volume.ts");
  const catalogue = join(folder, "generated/catalogue.json");
  const before = readFileSync(module, "utf8");
  const after = `${before}// Printed by other code.\n`;
  writeFileSync(module, after);
  const text = readFileSync(catalogue, "utf8").replace(digestOf(before), digestOf(after));
  writeFileSync(catalogue, withOwnDigest(text));
  expect(generate(own)).toMatchObject({ changed: [] });
  expect(generate(other)).toMatchObject({ changed: ["catalogue.json", "routes/bridges/volume.ts"] });
  expect(readFileSync(module, "utf8")).toBe(before);
});
