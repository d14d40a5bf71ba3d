/** Loads while callers read. `LOADS=200 npm test -- while-served` is 200 loads under 20,000 requests, and 200 that are killed. */
import { createHash } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { needs } from "../support/needs.js";
import { start } from "../support/command.js";
import { COPY_ENGINES, CopiedProject, writeParquet } from "./copies.js";

const LOADS = Number(process.env["LOADS"] ?? 4);
const READERS = 4;
const ROWS = 3000;
const REQUESTS = LOADS * 100;
/** For as many loads as are asked for. */
const TIME_MS = 900_000 + LOADS * 6000;
/** A load takes less: kills fall on each of its steps. */
const LAST_KILL_MS = 2500;

const rowsOf = (load: number): string =>
  `{'ID': pa.array(range(${String(ROWS)}), pa.int64()), 'LOAD': pa.array([${String(load)}] * ${String(ROWS)}, pa.int32())}`;

describe.skipIf(!needs("pyarrow")).each(COPY_ENGINES)("loads into %s", (engine) => {
  const orders = async (): Promise<CopiedProject> => {
    const project = await CopiedProject.of(engine, "snowflake", {
      name: "orders",
      columns: { id: "NUMBER(10,0)", load: "NUMBER(5,0)" },
    });
    await writeParquet(project.file("orders.parquet"), rowsOf(0));
    expect(await project.load()).toMatchObject({ exit: 0 });
    return project;
  };

  const digestOf = (rows: readonly { readonly id: number; readonly load: number }[]): string =>
    createHash("sha1")
      .update(
        rows
          .map(({ id, load }) => `${String(id)} ${String(load)}`)
          .toSorted()
          .join("\n"),
      )
      .digest("hex");
  const digests = new Map<number, string>();
  const expected = (load: number): string => {
    const known = digests.get(load) ?? digestOf(Array.from({ length: ROWS }, (_, id) => ({ id, load })));
    digests.set(load, known);
    return known;
  };

  /** What a response has: an error, or the loads of its rows and how many they are. */
  const read = async (url: string): Promise<string> => {
    const response = await fetch(`${url}/v1/shop/orders`);
    if (response.status !== 200) return `${String(response.status)} ${await response.text()}`;
    const rows = (await response.json()) as readonly { readonly id: number; readonly load: number }[];
    const [first] = rows;
    if (first === undefined || digestOf(rows) !== expected(first.load)) return "other rows";
    return `${[...new Set(rows.map(({ load }) => load))].join("+")}: ${String(rows.length)}`;
  };

  it("give each response the rows of one load, all of them", { timeout: TIME_MS }, async () => {
    const project = await orders();
    const url = await project.serve();
    const seen = new Set<string>();
    let [isDone, requests] = [false, 0];
    const readers = Array.from({ length: READERS }, async () => {
      for (; !isDone || requests < REQUESTS; requests++) seen.add(await read(url));
    });
    for (let load = 1; load <= LOADS; load++) {
      await writeParquet(project.file("orders.parquet"), rowsOf(load));
      expect(await project.load()).toMatchObject({ exit: 0 });
    }
    isDone = true;
    await Promise.all(readers);
    expect([...seen].filter((text) => !/^\d+: 3000$/.test(text))).toEqual([]);
    expect(await read(url)).toBe(`${String(LOADS)}: 3000`);
  });

  it("that are killed leave the old rows, and the next one loads", { timeout: TIME_MS }, async () => {
    const project = await orders();
    const url = await project.serve();
    const args = ["ddl", "manifest.json", "--from", "{name}.parquet", "--apply"];
    await writeParquet(project.file("orders.parquet"), rowsOf(1));
    for (let kill = 0; kill < LOADS; kill++) {
      const running = start(project.folder, args, { LOAD_DATABASE_URL: project.ownerUrl });
      await pause(200 + ((kill * 150) % LAST_KILL_MS));
      await running.stop("SIGKILL");
      expect(await read(url)).toMatch(/^[01]: 3000$/);
    }
    await writeParquet(project.file("orders.parquet"), rowsOf(2));
    await expect.poll(async () => (await project.load()).exit).toBe(0);
    expect(await read(url)).toBe("2: 3000");
  });
});
