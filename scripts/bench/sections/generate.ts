import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve, sep } from "node:path";
import { apiFolder, ROUTEWRIGHT } from "../api-folder.js";
import { timeProgram } from "../children.js";
import type { Bar, Findings, Row, Table } from "../report.js";
import { interleave } from "../rounds.js";
import { middleOf, ratioOf } from "../statistics.js";
import type { Setting } from "./section.js";
import { timeTypeCheck } from "./type-check.js";

/** A real catalogue, where there is one beside the clone. */
const CATALOGUE = "../shared/catalogue/manifest-2026-05-21.json";
const SYNTHETIC_ENDPOINTS = 500;

/** Seconds, by round. */
type Times = Record<"baseline" | "cold" | "unchanged", number[]>;

/** The time that `routewright generate` takes as a whole process, beside one that only reads and writes as much. */
export async function generate(setting: Setting): Promise<Findings> {
  setting.progress("generate: cold, unchanged and the baseline");
  const folder = join(setting.folder, "generate");
  mkdirSync(folder, { recursive: true });
  const manifest = await chooseManifest(setting);
  const times = await race(folder, manifest, setting.effort.rounds);
  const types = await timeTypeCheck(setting, SYNTHETIC_ENDPOINTS);
  return { tables: [table(times, manifest, filesOf(join(folder, "unchanged"))), types], bars: bars(times) };
}

async function chooseManifest({ folder }: Setting): Promise<string> {
  if (existsSync(CATALOGUE)) return resolve(CATALOGUE);
  return resolve(await apiFolder(folder, SYNTHETIC_ENDPOINTS), "manifest.json");
}

async function race(folder: string, manifest: string, rounds: number): Promise<Times> {
  const run = (name: string) => {
    const args = [ROUTEWRIGHT, "generate", "--manifest", manifest, "--out", name];
    return timeProgram({ name, args, folder });
  };
  const emptied = (name: string) => rmSync(join(folder, name), { recursive: true, force: true });
  await run("unchanged");
  writeFileSync(join(folder, "sizes.json"), JSON.stringify(filesOf(join(folder, "unchanged"))));
  const script = resolve("scripts/bench/baselines/write-files.js");
  const baseline = { name: "baseline", args: [script, manifest, "sizes.json", "baseline"], folder };
  const subjects = {
    baseline: () => (emptied("baseline"), timeProgram(baseline)),
    cold: () => (emptied("cold"), run("cold")),
    unchanged: () => run("unchanged"),
  };
  return interleave(subjects, rounds);
}

/** The files of a folder with their sizes in bytes. */
function filesOf(folder: string): Record<string, number> {
  const entries = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const sized = entries.map((file) => ({ file, stats: statSync(join(folder, file)) }));
  const files = sized.filter(({ stats }) => stats.isFile());
  return Object.fromEntries(files.map(({ file, stats }) => [file.replaceAll(sep, "/"), stats.size]));
}

function table(times: Times, manifest: string, files: Readonly<Record<string, number>>): Table {
  const bytes = Object.values(files).reduce((sum, size) => sum + size, 0);
  const kilobytes = (size: number) => `${Math.round(size / 1000).toLocaleString("en-US")} kB`;
  return {
    title: `generate: a manifest of ${kilobytes(statSync(manifest).size)}, ${String(Object.keys(files).length)} files of ${kilobytes(bytes)}`,
    columns: [
      { key: "program", head: "whole process" },
      { key: "milliseconds", head: "ms", digits: 0 },
      { key: "ofBaseline", head: "of baseline", digits: 2 },
    ],
    rows: [
      row("read, parse and write as much", times.baseline, times),
      row("routewright generate, empty folder", times.cold, times),
      row("routewright generate, nothing changed", times.unchanged, times),
    ],
  };
}

function row(program: string, seconds: readonly number[], { baseline }: Times): Row {
  return {
    program,
    milliseconds: middleOf(seconds).median * 1000,
    ofBaseline: ratioOf(seconds, baseline).median,
  };
}

function bars({ baseline, cold, unchanged }: Times): Bar[] {
  return [
    {
      what: "time of generate into an empty folder to the baseline",
      ...ratioOf(cold, baseline),
      expected: { atMost: 8 },
    },
    {
      what: "time of generate with nothing changed to the baseline",
      ...ratioOf(unchanged, baseline),
      expected: { atMost: 2.5 },
    },
  ];
}
