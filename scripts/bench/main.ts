/** The benchmark: runs sections, prints their tables and bars, and exits 1 when a bar is missed. */
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { barsText, type Findings, isMet, tableText } from "./report.js";
import type { Effort, Section, Setting } from "./section.js";
import { clickhouse } from "./sections/clickhouse.js";
import { generate } from "./sections/generate.js";
import { rampIntents } from "./sections/ramp.js";
import { scaling } from "./sections/scaling.js";
import { serve } from "./sections/serve.js";
import { stream } from "./sections/stream.js";

const SECTIONS: Readonly<Record<string, Section>> = {
  serve,
  stream,
  clickhouse,
  ramp: rampIntents,
  generate,
  scaling,
};

/** `--quick` runs this section only. */
const QUICK_SECTION = "serve";

/** Many short rounds rather than few long ones: a disturbance of the machine then falls on all subjects alike. */
const FULL: Effort = { rounds: 9, roundMs: 2000, warmUpMs: 4000 };
const QUICK: Effort = { rounds: 4, roundMs: 2000, warmUpMs: 2000 };

const JSON_FILE = ".data/bench.json";

/** Bound of a run that hangs. */
const LIMIT_MS = 25 * 60_000;

interface Options {
  readonly sections: readonly string[];
  readonly effort: Effort;
}

function readOptions(args: readonly string[]): Options {
  const options = { quick: { type: "boolean", default: false } } as const;
  const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options });
  const known = Object.keys(SECTIONS);
  const unknown = positionals.filter((name) => !known.includes(name));
  if (unknown.length > 0)
    throw new Error(`Unknown section ${unknown.join(", ")}. Sections: ${known.join(", ")}.`);
  const all = values.quick ? [QUICK_SECTION] : known;
  return { sections: positionals.length > 0 ? positionals : all, effort: values.quick ? QUICK : FULL };
}

async function bench({ sections, effort }: Options): Promise<void> {
  const folder = resolve(".data/bench");
  mkdirSync(folder, { recursive: true });
  const machine = machineText();
  const progress = (line: string): void => console.error(`… ${line}`);
  const findings: Record<string, Findings> = {};
  for (const name of sections) {
    const section = await runSection(SECTIONS[name] ?? serve, { effort, folder, progress });
    findings[name] = section;
    for (const table of section.tables) console.log(`\n${tableText(table)}`);
  }
  const bars = Object.values(findings).flatMap((section) => section.bars);
  console.log(`\n${barsText(bars)}\n\n  ${machine}\n  As JSON: ${JSON_FILE}`);
  writeFileSync(JSON_FILE, JSON.stringify({ machine, effort, findings }, null, 2));
  if (!bars.every(isMet)) process.exitCode = 1;
}

async function runSection(section: Section, setting: Omit<Setting, "keep">): Promise<Findings> {
  const started: { stop(): Promise<void> }[] = [];
  try {
    return await section({ ...setting, keep: (one) => (started.push(one), one) });
  } finally {
    for (const one of started.reverse()) await one.stop();
  }
}

function machineText(): string {
  const [cores, [load = 0]] = [cpus(), loadavg()];
  const busy = load < cores.length / 4 ? "" : ` Busy (load ${load.toFixed(1)}): the figures are rough.`;
  return `Node ${process.versions.node} on ${process.platform}, ${String(cores.length)} cores (${cores[0]?.model.trim() ?? "unknown"}).${busy}`;
}

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(2));
setTimeout(() => {
  console.error("error: The benchmark did not end in time.");
  process.exit(2);
}, LIMIT_MS).unref();
try {
  await bench(readOptions(process.argv.slice(2)));
} catch (error) {
  console.error(`error: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 2;
}
