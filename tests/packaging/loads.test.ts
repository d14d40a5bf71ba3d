import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ENTRIES } from "../../scripts/bench/entries.js";
import { loadsOf } from "../../scripts/bench/static-imports.js";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, ".github/CONTRIBUTING.md"), "utf8");

/** Rows of the table "What each entry loads": the most files and lines, and the packages. */
const stated = new Map(
  [...page.matchAll(/^\| (.+?) +\| +([\d,]+) +\| +([\d,]+) +\| (.*?) +\|$/gm)].map(
    ([, name = "", files = "", lines = "", packages = ""]) => [
      name,
      {
        files: Number(files),
        lines: Number(lines.replace(",", "")),
        packages: packages === "none" ? [] : packages.split(", "),
      },
    ],
  ),
);

describe("what each entry loads stands in CONTRIBUTING.md", () => {
  it("and no other entry does", () => {
    expect([...stated.keys()]).toEqual(Object.keys(ENTRIES));
  });

  it.each(Object.entries(ENTRIES))("%s loads no more than that", (name, sources) => {
    const most = stated.get(name);
    const { files, lines, packages } = loadsOf(...sources.map((file) => join(root, file)));
    expect(packages).toEqual(most?.packages);
    expect(files.length).toBeLessThanOrEqual(most?.files ?? 0);
    expect(lines).toBeLessThanOrEqual(most?.lines ?? 0);
  });

  it("an engine comes by the address, groups and measures with the first endpoint that has them", () => {
    const { files } = loadsOf(join(root, "runtime/index.ts"));
    const others = files.filter((file) =>
      /\/(postgres|clickhouse|metrics|ramp|pages)\//.test(file.slice(root.length)),
    );
    expect(others).toEqual([]);
  });

  it("PostgreSQL comes without Node's own client of HTTP, and leaves no global behind", () => {
    const script = `await import("./runtime/dist/postgres/engine.js");
      console.log(process.moduleLoadList.some((name) => name.endsWith("undici/undici")), typeof navigator);`;
    const args = ["--input-type=module", "--eval", script];
    const { stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
    expect([stderr, stdout]).toEqual(["", `false ${"navigator" in globalThis ? "object" : "undefined"}\n`]);
  });

  it("`serve` loads nothing that reads a manifest: a refresh does so in a thread of its own", () => {
    const { files } = loadsOf(
      ...["cli", "commands/serve", "commands/serve/log-differences"].map((file) =>
        join(root, `generator/${file}.ts`),
      ),
    );
    const read = files
      .map((file) => file.slice(root.length + 1))
      .filter((file) => READS_MANIFESTS.test(file));
    expect(read).toEqual([]);
  });
});

const READS_MANIFESTS = /^generator\/(render|catalogue\/(build|metrics|settings)|manifest\/manifest)\b/;
