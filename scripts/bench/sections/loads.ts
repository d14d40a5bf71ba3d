import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createEndpoints, generateEndpoints, openDatabase, serveApi } from "../api.js";
import { type Bar, type Figures, type Findings, interleave, medians, type Setting } from "../figures.js";
import { cpuSeconds, residentMiB } from "../process.js";
import { ENTRIES } from "../entries.js";
import { loadsOf } from "../static-imports.js";

/** Limits of what imports take, in milliseconds of processor time and MB. */
const LIMITS: Readonly<Record<string, { readonly cpu: number; readonly memory: number }>> = {
  "a generated module": { cpu: 120, memory: 55 },
  "the same, serving PostgreSQL": { cpu: 200, memory: 66 },
  "the same, serving ClickHouse": { cpu: 200, memory: 66 },
};

/** Endpoints of `routewright serve`, and its limits: seconds to its first answer, MB at rest. */
const SERVED = { endpoints: 28, seconds: 1, memory: 80 };

/** Processor time and memory of a process that imports an entry, beside one that imports the entry's packages alone. */
export async function loads(setting: Setting): Promise<Findings> {
  const rows: Record<string, Record<string, number>> = {};
  for (const [name, sources] of Object.entries(ENTRIES)) {
    setting.progress(`loads: ${name}`);
    const { files, lines, specifiers } = loadsOf(...sources);
    const dist = sources.map((file) =>
      resolve(file.replace(/^(runtime\/ramp|\w+)\//, "$1/dist/").replace(/ts$/, "js")),
    );
    const samples = await interleave({
      all: () => Promise.resolve(imported(dist)),
      packages: () => Promise.resolve(imported(specifiers)),
      nothing: () => Promise.resolve(imported([])),
    });
    const [all, alone, bare] = [samples.all, samples.packages, samples.nothing].map(medians);
    rows[name.replaceAll("`", "")] = {
      files: files.length,
      lines,
      ms: all?.ms ?? NaN,
      "ms, packages": alone?.ms ?? NaN,
      "ms, Node": bare?.ms ?? NaN,
      MB: all?.megabytes ?? NaN,
      "MB, packages": alone?.megabytes ?? NaN,
      "MB, Node": bare?.megabytes ?? NaN,
    };
  }
  const imports = Object.entries(LIMITS).flatMap(([name, { cpu, memory }]) => [
    barOf(`${name}, ms of processor time`, rows[name]?.["ms"], cpu),
    barOf(`${name}, MB`, rows[name]?.["MB"], memory),
  ]);
  const serve = medians(await servedSamples(setting));
  return {
    tables: [
      { title: "loads: processor time and resident memory of a process that imports", rows },
      { title: `loads: routewright serve, ${String(SERVED.endpoints)} endpoints`, rows: { serve } },
    ],
    bars: [
      ...imports,
      barOf("serve, seconds to the first answer", serve["first answer s"], SERVED.seconds),
      barOf("serve at rest, MB", serve["MB at rest"], SERVED.memory),
    ],
  };
}

function barOf(name: string, value = NaN, limit: number): Bar {
  const ratio = value / limit;
  return { name, ratio: { median: ratio, lowest: ratio, highest: ratio }, limit: { atMost: 1 } };
}

/** Starts of `routewright serve` on PostgreSQL: until it answers, and what it holds when it has nothing to do. */
async function servedSamples({ folder, keep, progress }: Setting): Promise<readonly Figures[]> {
  progress("loads: serve");
  const database = keep(await openDatabase(folder));
  await createEndpoints(database, SERVED.endpoints);
  const api = await generateEndpoints(folder, SERVED.endpoints);
  const start = async (): Promise<Figures> => {
    const started = performance.now();
    const server = await serveApi(api, database.url);
    const seconds = (performance.now() - started) / 1000;
    await sleep(REST_MS);
    const figures = {
      "first answer s": seconds,
      "CPU s": cpuSeconds(server.pid),
      "MB at rest": residentMiB(server.pid) * 1.048576,
    };
    await server.stop();
    return figures;
  };
  return (await interleave({ start })).start;
}

/** After its start a server looks relations up. */
const REST_MS = 2000;

/** Processor time in milliseconds and resident megabytes of a process, once it has imported these. */
function imported(specifiers: readonly string[]): { readonly ms: number; readonly megabytes: number } {
  const script = `for (const each of ${JSON.stringify(specifiers)}) await import(each);
    const { user, system } = process.cpuUsage();
    console.log(JSON.stringify({ ms: (user + system) / 1000, megabytes: process.memoryUsage().rss / 1e6 }));`;
  const args = ["--input-type=module", "--eval", script];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", cwd: resolve("runtime") });
  if (stdout === "") throw new Error(`${specifiers.join(", ")} cannot be imported: ${stderr}`);
  return JSON.parse(stdout) as ReturnType<typeof imported>;
}
