/** The benchmark: runs sections, prints their tables and bars, and exits 1 when a bar is missed. */
import { mkdirSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { resolve } from "node:path";
import {
  type Bar,
  isMet,
  printBars,
  printPageTable,
  printTable,
  type Section,
  type Setting,
} from "./figures.js";
import { clickhouse } from "./sections/clickhouse.js";
import { cluster } from "./sections/cluster.js";
import { cumulative } from "./sections/cumulative.js";
import { deploys } from "./sections/deploys.js";
import { flood } from "./sections/flood.js";
import { generate } from "./sections/generate.js";
import { groups } from "./sections/groups.js";
import { hot } from "./sections/hot.js";
import { large } from "./sections/large.js";
import { loads } from "./sections/loads.js";
import { processes } from "./sections/processes.js";
import { rampIntents } from "./sections/ramp.js";
import { replicas } from "./sections/replicas.js";
import { serve } from "./sections/serve.js";
import { shapes } from "./sections/shapes.js";
import { sharedPorts } from "./sections/shared-ports.js";
import { sizes } from "./sections/sizes.js";
import { stream } from "./sections/stream.js";
import { tenants } from "./sections/tenants.js";

const SECTIONS: Readonly<Record<string, Section>> = {
  serve,
  hot,
  stream,
  clickhouse,
  cluster,
  groups,
  cumulative,
  ramp: rampIntents,
  tenants,
  generate,
  sizes,
  processes,
  ports: sharedPorts,
  replicas,
  deploys,
  loads,
};

/** The sections behind the page `scaling.md`; each takes at most 140 s. */
const SCALING = ["sizes", "processes", "ports", "replicas", "cluster", "deploys"];

/** Sections that run only by name. */
const BY_NAME: Readonly<Record<string, Section>> = { flood, large, shapes };

/** Bound of a run that hangs. */
const LIMIT_MS = 40 * 60_000;

/** Runs the sections that are named, or all but those that run only by name. */
async function bench(names: readonly string[]): Promise<void> {
  const folder = resolve(".data/bench");
  mkdirSync(folder, { recursive: true });
  const machine = machineText();
  const progress = (line: string): void => console.error(`… ${line}`);
  const bars: Bar[] = [];
  const chosen = names.flatMap((name) => (name === "scaling" ? SCALING : [name]));
  for (const name of chosen.length > 0 ? chosen : Object.keys(SECTIONS)) {
    const section = SECTIONS[name] ?? BY_NAME[name];
    if (!section)
      throw new Error(`There is no section ${name}: ${Object.keys({ ...SECTIONS, ...BY_NAME }).join(", ")}.`);
    const findings = await runSection(section, { folder, progress });
    findings.tables.forEach(printTable);
    findings.page?.forEach(printPageTable);
    bars.push(...findings.bars);
  }
  printBars(bars);
  console.log(machine);
  if (!bars.every(isMet)) process.exitCode = 1;
}

async function runSection(section: Section, setting: Omit<Setting, "keep">) {
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
  await bench(process.argv.slice(2));
} catch (error) {
  console.error(`error: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 2;
}
