/** The benchmark: runs the sections asked for, prints what they found, and keeps it as JSON. */
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { dirname, resolve } from "node:path";
import { readOptions, type Options } from "./options.js";
import { isMet, type Findings } from "./report.js";
import { generate } from "./sections/generate.js";
import { notModified } from "./sections/not-modified.js";
import { ramp } from "./sections/ramp.js";
import { refresh } from "./sections/refresh.js";
import type { Section } from "./sections/section.js";
import { serve } from "./sections/serve.js";
import { soak } from "./sections/soak.js";
import { stream } from "./sections/stream.js";
import { workers } from "./sections/workers.js";
import { barsText, tableText } from "./table.js";

const SECTIONS: Readonly<Record<string, Section>> = {
  serve,
  "not-modified": notModified,
  workers,
  stream,
  generate,
  refresh,
  ramp,
  soak,
};

/** Everything is bounded by itself; should something hang all the same, nobody waits for ever. */
const LIMIT_MS = 12 * 60_000;

async function bench(options: Options): Promise<void> {
  const folder = resolve(".data/bench");
  mkdirSync(folder, { recursive: true });
  const progress = (line: string): void => console.error(`… ${line}`);
  const busy = busyNote();
  const sections: Record<string, Findings> = {};
  for (const [name, section] of Object.entries(SECTIONS)) {
    if (!options.sections.includes(name)) continue;
    sections[name] = await section({ effort: options.effort, minutes: options.minutes, folder, progress });
    for (const table of sections[name].tables) console.log(`\n${tableText(table)}`);
  }
  const bars = Object.values(sections).flatMap((findings) => findings.bars);
  console.log(`\n${barsText(bars)}\n\n  ${machine()}${busy}`);
  keep(options, sections);
  if (options.enforce && !bars.every(isMet)) process.exitCode = 1;
}

function machine(): string {
  const cores = cpus();
  return `Node ${process.versions.node} on ${process.platform}, ${String(cores.length)} cores (${cores[0]?.model.trim() ?? "unknown"}).`;
}

/** Ratios bear a machine that does other work too, but not any amount of it. */
function busyNote(): string {
  const [load = 0] = loadavg();
  if (load < cpus().length / 4) return "";
  return `\n  The machine was busy when this began (load ${load.toFixed(1)}): take the figures as rough.`;
}

function keep({ json, effort }: Options, sections: Readonly<Record<string, Findings>>): void {
  mkdirSync(dirname(json), { recursive: true });
  const judged = Object.entries(sections).map(([name, { tables, bars }]) => [
    name,
    { tables, bars: bars.map((bar) => ({ ...bar, met: isMet(bar) })) },
  ]);
  const report = { machine: machine(), effort, sections: Object.fromEntries(judged) as unknown };
  writeFileSync(json, `${JSON.stringify(report, null, 2)}\n`);
  console.log(`  As JSON: ${json}`);
}

function giveUp(): void {
  console.error("error: The benchmark hangs; giving up.");
  process.exit(2);
}

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(2));
let limit: NodeJS.Timeout | undefined;
try {
  const options = readOptions(process.argv.slice(2), Object.keys(SECTIONS));
  limit = setTimeout(giveUp, LIMIT_MS + options.minutes * 60_000);
  await bench(options);
} catch (error) {
  console.error(`error: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 2;
} finally {
  clearTimeout(limit);
}
