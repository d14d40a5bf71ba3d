import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Metafile } from "esbuild";

/** Files in which packages keep their terms, such as `LICENSE`, `licence.md` and `NOTICE`. */
const TERMS = /^(?:licen[cs]e|copying|notice)(?:[.-]\w+)*$/i;

/** The code of others in the runtime's assets, by folder of its package: the assets that have it. */
const carried = new Map<string, Set<string>>();

/** Notes what a bundle is made of. */
export function noteBundle({ outputs }: Metafile, root: string): void {
  for (const [output, { inputs }] of Object.entries(outputs))
    for (const input of Object.keys(inputs)) {
      const [folder] = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input) ?? [];
      if (folder !== undefined) noteCopy(join(root, folder), output.replace(/^.*\//, ""));
    }
}

/** Notes a file that is copied from a package. */
export function noteCopy(folder: string, asset: string): void {
  const assets = carried.get(folder) ?? new Set<string>();
  // The name of a part changes with its text.
  carried.set(folder, assets.add(asset.replace(/-[A-Z0-9]{8}\.js$/, ".js")));
}

/** Writes the names, versions and terms of all that was noted. Throws where a package has no terms. */
export function writeNotice(file: string): void {
  const parts = [...carried].map(([folder, assets]) => partOf(folder, [...assets].sort()));
  const head =
    "This package carries code of others in dist/assets, under the terms below. What it depends on, npm installs with its own terms.";
  writeFileSync(file, `${[head, ...parts.sort()].join("\n\n")}\n`);
}

function partOf(folder: string, assets: readonly string[]): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    readonly name: string;
    readonly version: string;
    readonly license?: string;
  };
  const terms = readdirSync(folder).filter((entry) => TERMS.test(entry));
  if (terms.length === 0)
    throw new Error(`${folder} has no licence text: find out under which terms ${name} comes.`);
  const texts = terms.map((entry) => readFileSync(join(folder, entry), "utf8").trim());
  return [`# ${name} ${version} (${license ?? "see below"}), in ${assets.join(", ")}`, ...texts].join("\n\n");
}
