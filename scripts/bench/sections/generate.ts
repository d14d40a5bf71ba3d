import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { ENDPOINTS, generateEndpoints, ROUTEWRIGHT } from "../api.js";
import { timeProgram } from "../process.js";
import type { Findings } from "../report.js";
import type { Setting } from "../section.js";
import { interleave, median, ratioOf } from "../statistics.js";

/** Limits of the ratios to a program that only parses the manifest and writes as many bytes. */
const COLD = 8;
const UNCHANGED = 3;

/** Seconds of `routewright generate` as a whole process, and of the compiler on its output. */
export async function generate({ folder: parent, progress, effort }: Setting): Promise<Findings> {
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
  const times = await interleave(
    {
      baseline: () => (remove("baseline"), timeProgram(baseline)),
      cold: () => (remove("cold"), run("cold")),
      unchanged: () => run("unchanged"),
    },
    effort.rounds,
  );
  progress("generate: type-checking the output");
  const few = await typeCheck(await generateEndpoints(parent, 10));
  const row = (name: string, seconds: readonly number[]) => ({ name, ms: median(seconds) * 1000 });
  const bar = (name: string, seconds: readonly number[], atMost: number) => ({
    name: `generate, ${name}, to parse + write`,
    ratio: ratioOf(seconds, times.baseline),
    limit: { atMost },
  });
  return {
    tables: [
      {
        title: `generate: ${String(ENDPOINTS)} endpoints, whole process`,
        columns: [
          { key: "name", head: "program" },
          { key: "ms", head: "ms", digits: 0 },
        ],
        rows: [
          row("parse the manifest, write as many bytes", times.baseline),
          row("routewright generate, empty folder", times.cold),
          row("routewright generate, nothing changed", times.unchanged),
          // Has no bar: most of the time is the compiler's own start.
          row("tsc on the output", [await typeCheck(api)]),
          row("tsc on the output of 10 endpoints", [few]),
        ],
      },
    ],
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
