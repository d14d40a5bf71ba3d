/**
 * `newer-duckdb.ts <manifest> <folder> <model>` loads a copy into the PostgreSQL of `LOAD_DATABASE_URL` with a DuckDB newer
 * than that of the project: a process holds one DuckDB.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { catalogueOf } from "../../generator/catalogue/build.js";
import { newLoadId } from "../../generator/ddl/clickhouse/load-tables.js";
import { copiedRelations } from "../../generator/ddl/copied-relation.js";
import type { DuckDbPackage } from "../../generator/ddl/postgres/duckdb.js";
import { postgresLoader } from "../../generator/ddl/postgres/load.js";
import { parseManifest } from "../../generator/manifest/manifest.js";
import { messageOf } from "../../runtime/core/model/outcome.js";

const NEWER = new URL("../../.data/duckdb/node_modules/@duckdb/node-api/lib/index.js", import.meta.url);

const [manifest = "", folder = "", model = ""] = process.argv.slice(2);
const reading = parseManifest(readFileSync(manifest, "utf8"), manifest);
if (!reading.ok) throw new Error(reading.problems.join(" "));
const relations = copiedRelations(catalogueOf(reading.value, { engine: "postgres" }));
const copied = relations.find((each) => each.model === model);
const opened = await postgresLoader(
  process.env["LOAD_DATABASE_URL"] ?? "",
  { store: "local", path: "" },
  {},
  () => import(NEWER.href) as Promise<DuckDbPackage>,
);
if (!opened.ok || copied === undefined) throw new Error(`Nothing to load of ${model}.`);
const request = { id: newLoadId(), format: "parquet", as: "table", grants: [], variables: {} } as const;
const from = { text: join(folder, "{name}.parquet"), cwd: folder };
const script = await opened.value.script(copied, { ...request, from, buildsOf: () => null });
const problem = script.ok
  ? await opened.value.apply(script.value).then(() => "", messageOf)
  : script.problems.join(" ");
await opened.value.close();
process.stderr.write(problem);
process.exitCode = problem === "" ? 0 : 2;
