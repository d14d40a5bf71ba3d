import { build, type Plugin } from "esbuild";
import { rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** Where Node finds the runtime's own dependencies; ignored by Git, and no part of its package. */
const BUNDLES = fileURLToPath(new URL("../../runtime/node_modules/.cache/test-processes/", import.meta.url));

const bundles = new Map<string, Promise<string>>();

/**
 * A TypeScript file and what it imports as one JavaScript file, for a process of its own: one that compiles many modules one by one
 * takes a second of a processor to start.
 */
export function bundleOf(path: string): Promise<string> {
  const known = bundles.get(path);
  if (known) return known;
  const outfile = `${BUNDLES}${String(process.pid)}-${basename(path, ".ts")}.mjs`;
  const bundle = build({
    entryPoints: [path],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    packages: "external",
    sourcemap: "inline",
    plugins: [OWN_URLS],
  }).then(() => outfile);
  process.once("exit", () => rmSync(outfile, { force: true }));
  bundles.set(path, bundle);
  return bundle;
}

/** Each file keeps its own address: some find others by it. */
const OWN_URLS: Plugin = {
  name: "own-urls",
  setup: ({ onLoad }) =>
    onLoad({ filter: /\.ts$/ }, async ({ path }) => ({
      contents: (await readFile(path, "utf8")).replaceAll(
        "import.meta.url",
        JSON.stringify(pathToFileURL(path).href),
      ),
      loader: "ts",
    })),
};
