/** Bundles the command line: loading some sixty small modules would take as long as rendering a catalogue. */
import { build } from "esbuild";
import { fileURLToPath } from "node:url";

const inRoot = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

await build({
  entryPoints: ["cli.ts", "watch/render-worker.ts", "commands/verify-thread.ts"].map((file) =>
    inRoot(`generator/${file}`),
  ),
  outdir: inRoot("generator/dist"),
  entryNames: "[name]",
  chunkNames: "chunks/[name]-[hash]",
  bundle: true,
  // A command's code is a file of its own, loaded when the command is called.
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20",
  sourcemap: true,
  packages: "external",
  // What the generator shares with the runtime is small and holds no state.
  alias: { "@routewright/runtime/model": inRoot("runtime/model.ts") },
  logLevel: "warning",
});
