import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve, sep } from "node:path";
import { timeProgram } from "../process.js";
import type { Findings, Row, Table } from "../report.js";
import { interleave, median, ratioOf } from "../statistics.js";
import { ENDPOINTS, generateApi, ROUTEWRIGHT } from "../synthetic-api.js";
import type { Setting } from "./section.js";

/** A real manifest, when there is one beside the clone. */
const REAL_MANIFEST = "../shared/catalogue/manifest-2026-05-21.json";

/** Limits of the ratios to a program that only parses the manifest and writes as many bytes. */
const COLD = 8;
const UNCHANGED = 3;

/** Seconds of `routewright generate` as a whole process, and of the compiler on its output. */
export async function generate(setting: Setting): Promise<Findings> {
  setting.progress("generate: empty folder, nothing changed, and a program that parses and writes");
  const folder = join(setting.folder, "generate");
  mkdirSync(folder, { recursive: true });
  const manifest = existsSync(REAL_MANIFEST)
    ? resolve(REAL_MANIFEST)
    : resolve(await generateApi(setting.folder), "manifest.json");
  const run = (name: string): Promise<number> =>
    timeProgram({ name, args: [ROUTEWRIGHT, "generate", "--manifest", manifest, "--out", name], folder });
  const remove = (name: string): void => rmSync(join(folder, name), { recursive: true, force: true });
  await run("unchanged");
  const files = filesOf(join(folder, "unchanged"));
  writeFileSync(join(folder, "sizes.json"), JSON.stringify(files));
  const script = resolve("scripts/bench/baselines/write-files.js");
  const baseline = { name: "baseline", args: [script, manifest, "sizes.json", "baseline"], folder };
  const times = await interleave(
    {
      baseline: () => (remove("baseline"), timeProgram(baseline)),
      cold: () => (remove("cold"), run("cold")),
      unchanged: () => run("unchanged"),
    },
    setting.effort.rounds,
  );
  const cold = ratioOf(times.cold, times.baseline);
  const unchanged = ratioOf(times.unchanged, times.baseline);
  const row = (name: string, seconds: readonly number[], ratio: number): Row => ({
    name,
    ms: median(seconds) * 1000,
    ratio,
  });
  return {
    tables: [
      {
        title: `generate: ${String(Object.keys(files).length)} files, whole process`,
        columns: [
          { key: "name", head: "program" },
          { key: "ms", head: "ms", digits: 0 },
          { key: "ratio", head: "of the first", digits: 2 },
        ],
        rows: [
          row("parse the manifest, write as many bytes", times.baseline, 1),
          row("routewright generate, empty folder", times.cold, cold.median),
          row("routewright generate, nothing changed", times.unchanged, unchanged.median),
        ],
      },
      await typeCheck(setting),
    ],
    bars: [
      { name: "generate into an empty folder to parse + write", ratio: cold, limit: { atMost: COLD } },
      { name: "generate, nothing changed, to parse + write", ratio: unchanged, limit: { atMost: UNCHANGED } },
    ],
  };
}

/** Sizes of the files below a folder. */
function filesOf(folder: string): Record<string, number> {
  const entries = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const sized = entries.map((file) => ({ file, stats: statSync(join(folder, file)) }));
  const files = sized.filter(({ stats }) => stats.isFile());
  return Object.fromEntries(files.map(({ file, stats }) => [file.replaceAll(sep, "/"), stats.size]));
}

/** Has no bar: most of the time is the compiler's own start, which the few endpoints show. */
async function typeCheck({ folder, progress }: Setting): Promise<Table> {
  progress("generate: type-checking the output");
  const rows: Row[] = [];
  for (const endpoints of [10, ENDPOINTS]) {
    const api = await generateApi(folder, endpoints);
    const compilerOptions = { paths: {} };
    const config = { extends: resolve("tsconfig.json"), compilerOptions, include: ["generated"] };
    writeFileSync(join(api, "tsconfig.json"), JSON.stringify(config));
    const args = [resolve("node_modules/typescript/bin/tsc"), "-p", "."];
    rows.push({ endpoints, seconds: await timeProgram({ name: "tsc", args, folder: api }) });
  }
  return {
    title: "generate: type-checking the output (tsc, whole process, once)",
    columns: [
      { key: "endpoints", head: "endpoints", digits: 0 },
      { key: "seconds", head: "seconds", digits: 2 },
    ],
    rows,
  };
}
