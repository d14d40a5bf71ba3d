import { expect } from "vitest";
import type { ServedEngine } from "../../generator/catalogue/types/type-in-copy.js";
import type { Run } from "../commands/run.js";
import { CopiedProject, writeParquet } from "./copies.js";

/** Values that an engine loads, or refuses. */
export interface Limit {
  /** Of the copy, as DuckDB declares it. */
  readonly type: string;
  /** An array of pyarrow. */
  readonly values: string;
  readonly options?: string;
  /** Values as the endpoint serves them, or what the refusal says. */
  readonly is: Readonly<Record<ServedEngine, readonly unknown[] | RegExp>>;
  /** What `ddl` says of a load. */
  readonly says?: Readonly<Partial<Record<ServedEngine, RegExp>>>;
}

/** A refusal of the value of row 1. */
export const unfit = (value: string, copy: string, file: string): RegExp =>
  new RegExp(
    `/\\w+\\.parquet, row group 0, row 1: the value ${value} of v does not fit ${copy} \\(${file} in the file\\)`,
  );
/** One project of all cases. */
export async function casesOf(
  engine: ServedEngine,
  limits: Readonly<Record<string, Limit>>,
  load = (project: CopiedProject, model: string): Promise<Run> => project.load("--select", model),
): Promise<(name: string) => Promise<void>> {
  const names = Object.keys(limits);
  const modelOf = (name: string): string => `m${String(names.indexOf(name))}`;
  const project = await CopiedProject.of(
    engine,
    "duckdb",
    ...Object.entries(limits).map(([name, { type }]) => ({
      name: modelOf(name),
      columns: { n: "INTEGER", v: type },
    })),
  );
  const url = await project.serve();
  return async (name) => {
    const [{ values, options = "", is, says }, model] = [limits[name] as Limit, modelOf(name)];
    const table = `{'n': pa.array(range(len(${values})), pa.int32()), 'v': ${values}}`;
    await writeParquet(project.file(`${model}.parquet`), table, options);
    const { exit, out, err } = await load(project, model);
    const expected = is[engine];
    if (expected instanceof RegExp) {
      expect({ exit, err }).toEqual({ exit: 2, err: expect.stringMatching(expected) as string });
      return;
    }
    expect({ exit, err }).toEqual({ exit: 0, err: "" });
    if (says?.[engine] !== undefined) expect(out).toMatch(says[engine]);
    const rows = (await (await fetch(`${url}/v1/shop/${model}`)).json()) as readonly Row[];
    expect(rows.toSorted((a, b) => a.n - b.n).map(({ v }) => v)).toEqual(expected);
  };
}

interface Row {
  readonly n: number;
  readonly v: unknown;
}
