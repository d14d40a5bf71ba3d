import { spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { type Findings, interleave, medians, type Setting } from "../figures.js";
import { ENTRIES } from "../entries.js";
import { loadsOf } from "../static-imports.js";

/** Limits of what a generated module loads, in milliseconds of processor time and MB. */
const MODULE = { cpu: 120, memory: 55 };

/** Processor time and memory of a process that imports an entry, beside one that imports the entry's packages alone. */
export async function loads({ progress }: Setting): Promise<Findings> {
  const rows: Record<string, Record<string, number>> = {};
  for (const [name, sources] of Object.entries(ENTRIES)) {
    progress(`loads: ${name}`);
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
  const { ms = NaN, MB = NaN } = rows["a generated module"] ?? {};
  const bar = (name: string, value: number, limit: number) => ({
    name: `a generated module, ${name}`,
    ratio: { median: value / limit, lowest: value / limit, highest: value / limit },
    limit: { atMost: 1 },
  });
  return {
    tables: [{ title: "loads: processor time and resident memory of a process that imports", rows }],
    bars: [bar("ms of processor time", ms, MODULE.cpu), bar("MB", MB, MODULE.memory)],
  };
}

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
