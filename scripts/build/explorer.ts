/** Bundles what the documentation pages run into the runtime's assets: nothing comes from another host. */
import { build } from "esbuild";
import { fileURLToPath } from "node:url";

const inRoot = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

await build({
  entryPoints: {
    explore: inRoot("runtime/docs/explorer/main.ts"),
    reference: inRoot("runtime/docs/reference/main.ts"),
    swagger: inRoot("runtime/docs/reference/swagger.css"),
  },
  outdir: inRoot("runtime/dist/assets"),
  bundle: true,
  minify: true,
  format: "esm",
  platform: "browser",
  target: ["chrome111", "firefox115", "safari16.4"],
  legalComments: "none",
  logLevel: "warning",
});
await build({
  stdin: {
    contents: '@import "uplot/dist/uPlot.min.css"; @import "./explore.css";',
    loader: "css",
    resolveDir: inRoot("runtime/docs/explorer"),
  },
  outfile: inRoot("runtime/dist/assets/explore.css"),
  bundle: true,
  minify: true,
  logLevel: "warning",
});
