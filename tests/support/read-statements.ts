/**
 * Reads every statement that a connection of the product sends to PostgreSQL while a test file runs: none has a name that the role's
 * `search_path` decides (`runtime/postgres/qualified-names.ts`). The ramp sets its sessions' path, and so may others.
 */
import { existsSync } from "node:fs";
import pg from "pg";
import { afterAll, expect } from "vitest";
import { unqualifiedNames } from "./unqualified-names.js";

interface Reading {
  /** What the file has sent; bounded by the forms of its statements. */
  readonly sent: Set<string>;
}

interface Sends {
  startup(config: { readonly application_name?: string }): unknown;
  query(text: string): unknown;
  parse(query: { readonly text: string }): unknown;
}

const OF_THE_PRODUCT = /^routewright(?: health| usage| ddl| keys)?$/;

/**
 * Suites whose semantic models and metrics have SQL of the project, which is read by the role's path: of these, statements of groups
 * are not judged. `tests/postgres/search-path.test.ts` sends 300 of them along a hostile path.
 */
const WITH_PROJECT_SQL = /tests\/(metrics|verify\/(?:aggregates|roll-ups))\b|search-path\.test/;
const OF_GROUPS = / AS (?:"(?:group |value|time|period|expression)|every\b)/;

/** Suites whose statements are read. `READ_STATEMENTS=all`: all, also those that send their own through the product's connections. */
const READ = [
  ...[
    "core/request",
    "server/system",
    "server/accounts",
    "server/events",
    "server/operations/usage.test.ts",
    "server/operations/usage-shapes.test.ts",
    "verify",
  ],
  ...["rows-as-bytes", "contract", "against-sql", "postgres"].map((name) => `core/warehouse/${name}.test.ts`),
  ...["every-filter", "changed-columns", "random-changes"].map((name) => `postgres/${name}.test.ts`),
].map((path) => `tests/${path}`);
for (const path of READ)
  if (!existsSync(path)) throw new Error(`${path} is gone: its statements would not be read.`);
const isOfRead = (file: string): boolean =>
  READ.some((path) => file.includes(path)) || process.env["READ_STATEMENTS"] === "all";

/** Test files share the modules of their worker. */
const shared = globalThis as { readStatements?: Reading };

function readStatements(): Reading {
  const reading: Reading = { sent: new Set() };
  const { prototype } = (pg as unknown as { readonly Connection: { readonly prototype: Sends } }).Connection;
  const { startup, query, parse } = prototype;
  /** Connections of the product, and whether they have set their own path up to the end of the transaction. */
  const ownPath = new WeakMap<object, boolean>();
  const read = (connection: object, text: string): void => {
    const hasPath = ownPath.get(connection);
    if (hasPath === undefined) return;
    if (/search_path/.test(text)) ownPath.set(connection, true);
    else if (/^\s*(COMMIT|ROLLBACK)/i.test(text)) ownPath.set(connection, false);
    else if (!hasPath) reading.sent.add(text);
  };
  prototype.startup = function (this: object, config) {
    if (OF_THE_PRODUCT.test(config.application_name ?? "")) ownPath.set(this, false);
    return startup.call(this, config);
  };
  prototype.query = function (this: object, text) {
    read(this, text);
    return query.call(this, text);
  };
  prototype.parse = function (this: object, statement) {
    read(this, statement.text);
    return parse.call(this, statement);
  };
  return reading;
}

const reading = (shared.readStatements ??= readStatements());

afterAll(() => {
  const { testPath = "" } = expect.getState();
  const sent = [...reading.sent];
  reading.sent.clear();
  if (!isOfRead(testPath)) return;
  const hasProjectSql = WITH_PROJECT_SQL.test(testPath);
  const found = sent
    .filter((statement) => !hasProjectSql || !OF_GROUPS.test(statement))
    .map((statement) => ({ names: unqualifiedNames(statement), statement }))
    .filter(({ names }) => names.length > 0);
  expect(found.slice(0, 10), "statements with names that the search_path decides").toEqual([]);
});
