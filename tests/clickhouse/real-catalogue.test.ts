import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { clickhouse, clickhouseUrl, hasClickhouse, ownDatabase } from "../support/clickhouse.js";
import { serve } from "../support/command.js";
import { generateInto, KEYS, ownFolder } from "../support/service.js";
import { sendRequest } from "../support/http-client.js";

/** Manifests of a public project, which are not ours to keep here: tested too where they are beside the clone. */
const SHARED = fileURLToPath(new URL("../../../shared/catalogue/", import.meta.url));
const FILES = ["manifest-2026-04-24.json", "manifest-2026-05-21.json"].filter((file) =>
  existsSync(join(SHARED, file)),
);

interface Node {
  readonly name: string;
  readonly alias?: string;
  readonly resource_type: string;
  schema: string;
  readonly tags: readonly string[];
  readonly columns: Readonly<Record<string, { readonly name: string; readonly data_type?: string | null }>>;
}

interface Manifest {
  readonly nodes: Readonly<Record<string, Node>>;
}

const identifier = (name: string): string => `\`${name.replace(/[\\`]/g, "\\$&")}\``;

/** A table with random rows of the declared types: random bytes in texts, NaN and the limits of the numbers. */
async function createTable(database: string, { name, alias, columns }: Node): Promise<void> {
  const declared = Object.values(columns).map(
    (column) => `${identifier(column.name)} ${column.data_type ?? "String"}`,
  );
  const table = `${database}.${identifier(alias ?? name)}`;
  const structure = declared.length > 0 ? declared : ["value Float64"];
  await clickhouse(`CREATE TABLE ${table} (${structure.join(", ")}) ENGINE = Memory`);
  await clickhouse(
    `INSERT INTO ${table} SELECT * FROM generateRandom('${structure.join(", ").replace(/[\\']/g, "\\$&")}', 1, 20, 3) LIMIT 30`,
  );
}

interface Operation {
  readonly "x-dbt-model": string;
  readonly parameters?: readonly {
    readonly name?: string;
    readonly in?: string;
    readonly schema?: { readonly format?: string };
  }[];
}

/** A value for each filter: some endpoints require one. */
function searchOf({ parameters = [] }: Operation): string {
  const own = parameters.filter(
    (each) => each.in === "query" && !/^(limit|offset|sort_by|sort_direction)$/.test(each.name ?? ""),
  );
  return new URLSearchParams(
    own.map(({ name = "", schema }): [string, string] => [
      name,
      schema?.format === "date" ? "2024-01-01" : "1",
    ]),
  ).toString();
}

describe.skipIf(!hasClickhouse || FILES.length === 0)("a real catalogue", () => {
  it.each(FILES.length === 0 ? ["none"] : FILES)("is served whole from ClickHouse: %s", async (file) => {
    const manifest = JSON.parse(readFileSync(join(SHARED, file), "utf8")) as Manifest;
    const database = await ownDatabase([]);
    const published = Object.values(manifest.nodes).filter(({ tags }) =>
      tags.some((tag) => tag.startsWith("api:")),
    );
    for (const node of published) {
      node.schema = database;
      await createTable(database, node);
    }
    const folder = ownFolder();
    generateInto(join(folder, "generated"), manifest);
    const started = performance.now();
    const server = await serve(folder, [], {
      DATABASE_URL: clickhouseUrl("api", database),
      API_KEYS: JSON.stringify({ [KEYS.tier3]: "tier3" }),
      RATE_LIMITS: "1000000",
    });
    const startMs = performance.now() - started;
    const ask = (path: string) => sendRequest(server.url, path, { key: KEYS.tier3 });
    const { paths } = JSON.parse((await ask("/openapi.json")).text) as {
      paths: Record<string, { get?: Operation }>;
    };
    const endpoints = Object.entries(paths).filter(([path]) => /^\/v1\/(?!system)/.test(path));
    let rows = 0;
    for (const [path, { get }] of endpoints) {
      const search = get ? searchOf(get) : "";
      const reply = await ask(search === "" ? path : `${path}?${search}`);
      expect([path, reply.status]).toEqual([path, 200]);
      const body = JSON.parse(reply.text) as unknown;
      const list = (Array.isArray(body) ? body : (body as { items: unknown }).items) as object[];
      rows += list.length;
      const node = published.find(({ name }) => name === get?.["x-dbt-model"]);
      const columns = Object.keys(node?.columns ?? {});
      for (const row of list.slice(0, 1)) if (columns.length > 0) expect(Object.keys(row)).toEqual(columns);
    }
    expect(rows).toBeGreaterThan(1000);
    const { rss } = {
      rss: Number(readFileSync(`/proc/${String(server.child.pid)}/statm`, "utf8").split(" ")[1]) * 4096,
    };
    console.log(
      `${file}: ${String(endpoints.length)} endpoints, ${String(rows)} rows, started in ${startMs.toFixed(0)} ms, ${(rss / 1e6).toFixed(0)} MB resident`,
    );
  });
});
