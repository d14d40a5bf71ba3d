/** Names that every object of JavaScript has, as relations and columns of a copy. */
import { describe, expect, it } from "vitest";
import { needs } from "../support/needs.js";
import { PROTOTYPE_NAMES } from "../support/prototype-names.js";
import { COPY_ENGINES, CopiedProject, writeParquet } from "./copies.js";

const columns = Object.fromEntries(PROTOTYPE_NAMES.map((name) => [name, "VARCHAR"]));

describe.skipIf(!needs("pyarrow", "duckdb")).each(COPY_ENGINES)("loaded into %s", (engine) => {
  it("relations and columns keep such names", async () => {
    const project = await CopiedProject.of(
      engine,
      "snowflake",
      ...PROTOTYPE_NAMES.map((name) => ({
        name,
        columns,
        routewright: { filters: [...PROTOTYPE_NAMES] },
      })),
    );
    const values = PROTOTYPE_NAMES.map((name) => `'${name}': ['${name} 1']`).join(", ");
    for (const name of PROTOTYPE_NAMES) await writeParquet(project.file(`${name}.parquet`), `{${values}}`);
    const printed = await project.ddl(["--from", "{name}.parquet"]);
    expect([printed.exit, printed.err]).toEqual([0, ""]);
    for (const name of PROTOTYPE_NAMES) expect(printed.out).toContain(`${name}"`);
    const loaded = await project.load();
    expect([loaded.exit, loaded.err]).toEqual([0, ""]);
    const url = await project.serve();
    for (const name of PROTOTYPE_NAMES) {
      const reply = await fetch(`${url}/v1/shop/${name}?${name}[eq]=${name}%201`);
      const row = Object.fromEntries(PROTOTYPE_NAMES.map((column) => [column, `${column} 1`]));
      expect([name, await reply.json()]).toEqual([name, [row]]);
    }
  });
});
