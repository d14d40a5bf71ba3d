import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ServedEngine } from "../../generator/catalogue/types/type-in-copy.js";
import { clickhouse, clickhouseUrl, hasClickhouse, ownDatabase } from "../support/clickhouse.js";
import { databaseUrl, ownSchema, query } from "../support/database.js";
import { manifestOf, type TestModel } from "../support/manifest.js";
import { generateInto, ownFolder, startFolder } from "../support/service.js";
import { routewright, type Run } from "../commands/run.js";
import { runPython } from "./python.js";

/** Address of the database as its owner, who loads. */
const OWNERS = { postgres: () => databaseUrl, clickhouse: () => process.env["TEST_CLICKHOUSE_URL"] ?? "" };

export const COPY_ENGINES: readonly ServedEngine[] = [
  "postgres",
  ...(hasClickhouse ? ["clickhouse" as const] : []),
];

/** Writes a file with pyarrow: a Python expression over `pa`, `D` (decimals) and `d` (dates and times). */
export async function writeParquet(file: string, table: string, options = ""): Promise<void> {
  const given = table.includes("pa.table") ? table : `pa.table(${table})`;
  await runPython(`pq.write_table(${given}, ${JSON.stringify(file)}${options && `, ${options}`})`);
}

/** A project whose models are served from a copy, in a schema of its own. */
export class CopiedProject {
  readonly folder = ownFolder();

  private constructor(
    readonly engine: ServedEngine,
    readonly schema: string,
    readonly models: readonly TestModel[],
    readonly adapter: string,
  ) {}

  static async of(
    engine: ServedEngine,
    adapter: string,
    ...models: readonly TestModel[]
  ): Promise<CopiedProject> {
    const schema = engine === "postgres" ? await ownSchema("SELECT 1") : await ownDatabase([]);
    const placed = models.map((model) => ({ schema, ...model }));
    const project = new CopiedProject(engine, schema, placed, adapter);
    writeFileSync(project.file("manifest.json"), JSON.stringify(project.manifest));
    writeFileSync(
      project.file("routewright.config.json"),
      JSON.stringify({ manifest: "manifest.json", engine }),
    );
    return project;
  }

  get manifest(): unknown {
    return manifestOf(this.models, { adapter_type: this.adapter });
  }

  file(name: string): string {
    return join(this.folder, name);
  }

  run(args: readonly string[], variables: Readonly<Record<string, string>>): Promise<Run> {
    return routewright(this.folder, args, variables);
  }

  /** Runs `routewright ddl`. */
  ddl(args: readonly string[], variables: Readonly<Record<string, string>> = {}): Promise<Run> {
    return this.run(["ddl", "manifest.json", ...args], {
      LOAD_DATABASE_URL: this.ownerUrl,
      ...variables,
    });
  }

  /** Loads what the folder has. */
  load(...args: readonly string[]): Promise<Run> {
    return this.ddl(["--from", "{name}.parquet", "--apply", ...args]);
  }

  /** The rows of a query as JSON of texts; `@` stands for the schema. */
  async rows(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const text = sql.replaceAll("@", this.schema);
    if (this.engine === "postgres") return query(text);
    const lines = await clickhouse(`${text} FORMAT JSONEachRow`);
    return lines
      .split("\n")
      .flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Record<string, unknown>]));
  }

  /** A server of the project. */
  start(): ReturnType<typeof startFolder> {
    const folder = this.file("generated");
    generateInto(folder, this.manifest, { engine: this.engine });
    return startFolder(folder, { DATABASE_URL: this.readerUrl, RATE_LIMITS: "1000000" });
  }

  async serve(): Promise<string> {
    return (await this.start()).url;
  }

  /** Of the user who loads. */
  get ownerUrl(): string {
    return OWNERS[this.engine]();
  }

  get readerUrl(): string {
    return this.engine === "postgres" ? databaseUrl : clickhouseUrl();
  }
}
