/** Random schemas and values, written by pyarrow, DuckDB and Polars: both engines serve what was written, or both refuse it. */
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { catalogueOf } from "../../generator/catalogue/build.js";
import { clickhouseLoader } from "../../generator/ddl/clickhouse/load.js";
import { newLoadId } from "../../generator/ddl/clickhouse/load-tables.js";
import { copiedRelations } from "../../generator/ddl/copied-relation.js";
import { postgresLoader } from "../../generator/ddl/postgres/load.js";
import { parseManifest } from "../../generator/manifest/manifest.js";
import { messageOf } from "../../runtime/core/model/outcome.js";
import { needs } from "../support/needs.js";
import { ownFolder } from "../support/service.js";
import { COPY_ENGINES, CopiedProject } from "./copies.js";

/** `RANDOM_FILES=1000 npm test -- random-files` tries more. */
const FILES = Number(process.env["RANDOM_FILES"] ?? 25);
const SEED = Number(process.env["RANDOM_FILES_SEED"] ?? 1);
/** Files of one project. */
const BATCH = 50;

const python = async (...args: readonly string[]): Promise<string> =>
  (
    await promisify(execFile)("python3", [join(import.meta.dirname, "random-files.py"), ...args], {
      maxBuffer: 1e9,
    })
  ).stdout;

interface LoadOutcome {
  readonly loaded: boolean;
  readonly rows?: string;
  readonly problem?: string;
}

type Model = Readonly<{ name: string; columns: Readonly<Record<string, string>> }>;

/** Loads each file by itself, and reads back over HTTP what was loaded. */
async function outcomesOf(
  engine: "postgres" | "clickhouse",
  folder: string,
  models: readonly Model[],
): Promise<Readonly<Record<string, LoadOutcome>>> {
  const project = await CopiedProject.of(
    engine,
    "duckdb",
    ...models.map(({ name, columns }) => ({ name, columns })),
  );
  const reading = parseManifest(JSON.stringify(project.manifest), "manifest.json");
  if (!reading.ok) throw new Error(reading.problems.join(" "));
  const from = { text: join(folder, "{name}.parquet"), cwd: folder };
  const opened =
    engine === "postgres"
      ? await postgresLoader(project.ownerUrl, { store: "local", path: "" }, {})
      : await clickhouseLoader(project.ownerUrl);
  if (!opened.ok) throw new Error(opened.problems.join(" "));
  const loader = opened.value;
  const problems = new Map<string, string>();
  for (const copied of copiedRelations(catalogueOf(reading.value, { engine }))) {
    const request = { id: newLoadId(), from, format: "parquet", as: "table", grants: [] } as const;
    const script = await loader.script(copied, { ...request, variables: {}, buildsOf: () => null });
    if (!script.ok) problems.set(copied.model, script.problems.join(" "));
    else
      await loader
        .apply(script.value)
        .catch((error: unknown) => problems.set(copied.model, messageOf(error)));
  }
  await loader.close();
  const url = await project.serve();
  const outcomes: (readonly [string, LoadOutcome])[] = [];
  for (const { name } of models) {
    const problem = problems.get(name);
    if (problem !== undefined) {
      outcomes.push([name, { loaded: false, problem }]);
      continue;
    }
    const response = await fetch(`${url}/v1/shop/${name}.ndjson`);
    const rows = await response.text();
    if (response.status !== 200) throw new Error(`${engine} ${name}: ${rows}`);
    outcomes.push([name, { loaded: true, rows }]);
  }
  return Object.fromEntries(outcomes);
}

it.skipIf(!needs("pyarrow") || COPY_ENGINES.length < 2)(
  `serves what ${String(FILES)} files of random schemas hold, or refuses it on both engines`,
  async () => {
    const total = { loaded: 0, refused: 0 };
    const differ: unknown[] = [];
    for (let done = 0; done < FILES; done += BATCH) {
      const folder = ownFolder();
      await python("write", folder, String(SEED * 1000 + done), String(Math.min(BATCH, FILES - done)));
      const models = JSON.parse(readFileSync(join(folder, "models.json"), "utf8")) as readonly Model[];
      const found = {
        postgres: await outcomesOf("postgres", folder, models),
        clickhouse: await outcomesOf("clickhouse", folder, models),
      };
      writeFileSync(join(folder, "outcomes.json"), JSON.stringify(found));
      const checked = JSON.parse(await python("check", folder, join(folder, "outcomes.json"))) as {
        readonly loaded: number;
        readonly refused: number;
        readonly differ: readonly unknown[];
      };
      differ.push(...checked.differ);
      // No refusal is an error of an engine's SQL.
      for (const outcomes of Object.values(found))
        for (const { problem } of Object.values(outcomes))
          if (problem !== undefined && !/does not fit|the export has/.test(problem)) differ.push(problem);
      total.loaded += checked.loaded;
      total.refused += checked.refused;
    }
    process.stdout.write(`${String(total.loaded)} loaded, ${String(total.refused)} refused on both\n`);
    expect(differ).toEqual([]);
    expect(total.loaded).toBeGreaterThan(0);
  },
  1_200_000,
);
