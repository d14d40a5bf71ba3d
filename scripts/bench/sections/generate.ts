import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { ENDPOINTS, generateEndpoints, ROUTEWRIGHT } from "../api.js";
import { timeProgram } from "../process.js";
import { type Findings, interleave, median, ratioOf, type Setting } from "../figures.js";

/** Limits of the ratios to a program that only parses the manifest and writes as many bytes. */
const COLD = 8;
const UNCHANGED = 3;

/** Seconds of `routewright generate` as a whole process, and of the compiler on its output. */
export async function generate({ folder: parent, progress }: Setting): Promise<Findings> {
  progress("generate: empty folder, nothing changed, and a program that parses and writes");
  const folder = join(parent, "generate");
  mkdirSync(folder, { recursive: true });
  const api = await generateEndpoints(parent);
  const manifest = join(api, "manifest.json");
  const run = (name: string): Promise<number> =>
    timeProgram({ name, args: [ROUTEWRIGHT, "generate", "--manifest", manifest, "--out", name], folder });
  const remove = (name: string): void => rmSync(join(folder, name), { recursive: true, force: true });
  await run("unchanged");
  writeFileSync(join(folder, "sizes.json"), JSON.stringify(filesOf(join(folder, "unchanged"))));
  const script = resolve("scripts/bench/baselines/write-files.js");
  const baseline = { name: "baseline", args: [script, manifest, "sizes.json", "baseline"], folder };
  const times = await interleave({
    baseline: () => (remove("baseline"), timeProgram(baseline)),
    cold: () => (remove("cold"), run("cold")),
    unchanged: () => run("unchanged"),
  });
  progress("generate: type-checking the output");
  const row = (seconds: readonly number[]) => ({ ms: median(seconds) * 1000 });
  const bar = (name: string, seconds: readonly number[], atMost: number) => ({
    name: `generate, ${name}, to parse + write`,
    ratio: ratioOf(seconds, times.baseline),
    limit: { atMost },
  });
  const rows = {
    "parse the manifest, write as many bytes": row(times.baseline),
    "routewright generate, empty folder": row(times.cold),
    "routewright generate, nothing changed": row(times.unchanged),
    // Has no bar: most of the time is the compiler's own start.
    "tsc on the output": row([await typeCheck(api)]),
  };
  return {
    tables: [{ title: `generate: ${String(ENDPOINTS)} endpoints, whole process`, rows }],
    bars: [bar("empty folder", times.cold, COLD), bar("nothing changed", times.unchanged, UNCHANGED)],
  };
}

/** Sizes of the files below a folder. */
function filesOf(folder: string): Record<string, number> {
  const entries = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const sized = entries.map((file) => ({ file, stats: statSync(join(folder, file)) }));
  return Object.fromEntries(
    sized.flatMap(({ file, stats }) => (stats.isFile() ? [[file, stats.size] as const] : [])),
  );
}

function typeCheck(api: string): Promise<number> {
  const config = {
    extends: resolve("tsconfig.json"),
    compilerOptions: { paths: {} },
    include: ["generated"],
  };
  writeFileSync(join(api, "tsconfig.json"), JSON.stringify(config));
  const args = [resolve("node_modules/typescript/bin/tsc"), "-p", "."];
  return timeProgram({ name: "tsc", args, folder: api });
}
