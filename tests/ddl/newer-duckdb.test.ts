/** DuckDB reads times of day in nanoseconds from 1.5.6 on, to which stores' tests have no extension. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { describe, it } from "vitest";
import type { Run } from "../commands/run.js";
import { needs } from "../support/needs.js";
import type { CopiedProject } from "./copies.js";
import { casesOf, type Limit, unfit } from "./limits.js";

const LIMITS: Readonly<Record<string, Omit<Limit, "is"> & { readonly is: readonly unknown[] | RegExp }>> = {
  "a time of day in whole microseconds": {
    type: "TIME",
    values: "pa.array([1000, None, 86399999999000], pa.time64('ns'))",
    is: ["00:00:00.000001", null, "23:59:59.999999"],
  },
  "a time of day in nanoseconds": {
    type: "TIME",
    values: "pa.array([1000, 1], pa.time64('ns'))",
    is: unfit("00:00:00.000000001", "time", "TIME_NS"),
  },
  "the last nanosecond of a day": {
    type: "TIME",
    values: "pa.array([0, 86399999999999], pa.time64('ns'))",
    is: unfit("23:59:59.999999999", "time", "TIME_NS"),
  },
  "a list of them": {
    type: "TIME[]",
    values: "pa.array([[1000, None], [1]], pa.list_(pa.time64('ns')))",
    is: unfit(".+00:00:00.000000001.+", "time\\[\\]", "TIME_NS\\[\\]"),
  },
  "a list of whole microseconds": {
    type: "TIME[]",
    values: "pa.array([[1000, None], None], pa.list_(pa.time64('ns')))",
    is: [["00:00:00.000001", null], null],
  },
  "a struct of them, as JSON": {
    type: "STRUCT(x TIME)",
    values: "pa.array([{'x': 1000}, {'x': 1}], pa.struct([('x', pa.time64('ns'))]))",
    is: [{ x: "00:00:00.000001" }, { x: "00:00:00.000000001" }],
  },
};

describe.skipIf(!needs("pyarrow", "@duckdb/node-api"))("a copy that the newest DuckDB reads", async () => {
  const cases = await casesOf(
    "postgres",
    Object.fromEntries(
      Object.entries(LIMITS).map(([name, limit]) => [
        name,
        { ...limit, is: { postgres: limit.is, clickhouse: [] } },
      ]),
    ),
    load,
  );
  it.each(Object.keys(LIMITS))("loads or refuses %s", (name) => cases(name));
});

/** Beside the server of this process, which must not wait for it. */
function load(project: CopiedProject, model: string): Promise<Run> {
  const script = join(import.meta.dirname, "newer-duckdb.ts");
  const args = ["--import", "tsx", script, project.file("manifest.json"), project.folder, model];
  const env = { PATH: process.env["PATH"], LOAD_DATABASE_URL: project.ownerUrl };
  return new Promise((resolve) => {
    const child = execFile(process.execPath, args, { env }, (_, out, err) =>
      resolve({ exit: child.exitCode, out, err }),
    );
  });
}
