import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type ClickhouseOptions,
  ClickhouseServer,
  queryClickhouse,
} from "../../scripts/clickhouse/start-clickhouse.js";
import { atEnd } from "./at-end.js";
import { needs } from "./needs.js";

/** Whether the real ClickHouse of this test run is there: `describe.skipIf(!hasClickhouse)`. */
export const hasClickhouse = needs("libchdb.so", "python3");

/** Address of that server as its owner. */
const ownerUrl = process.env["TEST_CLICKHOUSE_URL"] ?? "";

/** Its address as a user of `scripts/clickhouse/users.xml`. */
export function clickhouseUrl(user = "api", database = "default"): string {
  return ownerUrl.replace("default:@", `${user}:secret@`).replace(/\/default$/, `/${database}`);
}

/** Runs one SQL statement as the owner; resolves with the text of the result. */
export function clickhouse(sql: string, settings: Readonly<Record<string, string>> = {}): Promise<string> {
  return queryClickhouse(ownerUrl, sql, settings);
}

/** A database of a test file's own, filled by statements in which `@` stands for its name; dropped at the end. */
export async function ownDatabase(statements: readonly string[]): Promise<string> {
  const database = `test_${randomBytes(6).toString("hex")}`;
  if (!hasClickhouse) return database;
  await clickhouse(`CREATE DATABASE ${database} ENGINE = Atomic`);
  atEnd(async () => {
    await clickhouse(`DROP DATABASE ${database} SYNC`);
  });
  for (const statement of statements) await clickhouse(statement.replaceAll("@", database));
  return database;
}

/** A server of a test's own, to be treated badly; gone at its end. */
export async function ownClickhouse(
  options: Omit<ClickhouseOptions, "folder"> = {},
): Promise<ClickhouseServer> {
  const folder = await mkdtemp(join(tmpdir(), "own-clickhouse-"));
  const server = await ClickhouseServer.start({ ...options, folder });
  atEnd(async () => {
    await server.kill();
    await rm(folder, { recursive: true, force: true });
  });
  return server;
}
