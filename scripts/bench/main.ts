/** The benchmark: runs sections, prints their tables and bars, and exits 1 when a bar is missed. */
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { dirname, resolve } from "node:path";
import { parseArgs } from "node:util";
import { barsText, type Findings, isMet, tableText } from "./report.js";
import type { Effort, Section } from "./sections/section.js";
import { clickhouse } from "./sections/clickhouse.js";
import { cursors } from "./sections/cursors.js";
import { fairness } from "./sections/fairness.js";
import { fields } from "./sections/fields.js";
import { generate } from "./sections/generate.js";
import { rampIntents } from "./sections/ramp.js";
import { refresh } from "./sections/refresh.js";
import { scale } from "./sections/scale.js";
import { serve } from "./sections/serve.js";
import { stream } from "./sections/stream.js";

const SECTIONS: Readonly<Record<string, Section>> = {
  serve,
  scale,
  stream,
  fields,
  cursors,
  clickhouse,
  fairness,
  generate,
  refresh,
  ramp: rampIntents,
};

/** `--quick` runs this section only. */
const QUICK_SECTION = "serve";

/** Many short rounds rather than few long ones: a disturbance of the machine then falls on all subjects alike. */
const FULL: Effort = { rounds: 9, roundMs: 2000, warmUpMs: 4000 };
const QUICK: Effort = { rounds: 4, roundMs: 2000, warmUpMs: 2000 };

/** Bound of a run that hangs. */
const LIMIT_MS = 25 * 60_000;

interface Options {
  readonly sections: readonly string[];
  readonly effort: Effort;
  readonly json: string;
}

function readOptions(args: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: "boolean", default: false },
      json: { type: "string", default: ".data/bench.json" },
    },
  });
  const known = Object.keys(SECTIONS);
  const unknown = positionals.filter((name) => !known.includes(name));
  if (unknown.length > 0)
    throw new Error(`Unknown section ${unknown.join(", ")}. Sections: ${known.join(", ")}.`);
  const all = values.quick ? [QUICK_SECTION] : known;
  return {
    sections: positionals.length > 0 ? positionals : all,
    effort: values.quick ? QUICK : FULL,
    json: values.json,
  };
}

async function bench(options: Options): Promise<void> {
  const folder = resolve(".data/bench");
  mkdirSync(folder, { recursive: true });
  const progress = (line: string): void => console.error(`… ${line}`);
  const busy = busyNote();
  const findings: Record<string, Findings> = {};
  for (const name of options.sections) {
    const section = await SECTIONS[name]?.({
      effort: options.effort,
      folder,
      progress,
    });
    if (!section) continue;
    findings[name] = section;
    for (const table of section.tables) console.log(`\n${tableText(table)}`);
  }
  const bars = Object.values(findings).flatMap((section) => section.bars);
  console.log(`\n${barsText(bars)}\n\n  ${machine()}${busy}`);
  mkdirSync(dirname(options.json), { recursive: true });
  writeFileSync(
    options.json,
    `${JSON.stringify({ machine: machine(), effort: options.effort, findings }, null, 2)}\n`,
  );
  console.log(`  As JSON: ${options.json}`);
  if (!bars.every(isMet)) process.exitCode = 1;
}

function machine(): string {
  const cores = cpus();
  return `Node ${process.versions.node} on ${process.platform}, ${String(cores.length)} cores (${cores[0]?.model.trim() ?? "unknown"}).`;
}

function busyNote(): string {
  const [load = 0] = loadavg();
  if (load < cpus().length / 4) return "";
  return `\n  The machine was busy at the start (load ${load.toFixed(1)}): the figures are rough.`;
}

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(2));
let limit: NodeJS.Timeout | undefined;
try {
  const options = readOptions(process.argv.slice(2));
  limit = setTimeout(() => {
    console.error("error: The benchmark did not end in time.");
    process.exit(2);
  }, LIMIT_MS);
  await bench(options);
} catch (error) {
  console.error(`error: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 2;
} finally {
  clearTimeout(limit);
}
