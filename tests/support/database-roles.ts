import { randomBytes } from "node:crypto";
import pg from "pg";
import { atEnd } from "./at-end.js";
import { databaseUrl, queryAt } from "./database.js";

export type RoleSettings = Readonly<Record<string, string>>;

/** A role that may read a schema, and its address. */
export interface ReadingRole {
  readonly name: string;
  readonly url: string;
  /** Gives it settings of its own in place of those before. */
  readonly set: (settings: RoleSettings) => Promise<void>;
}

/** A role of a test's own, dropped at its end. */
export async function ownRole(
  schema: string,
  settings: RoleSettings = {},
  url = databaseUrl,
): Promise<ReadingRole> {
  const name = `role_${randomBytes(6).toString("hex")}`;
  const run = (sql: string) => queryAt(url, sql);
  await run(
    `CREATE ROLE ${name} LOGIN PASSWORD '${name}'; GRANT USAGE ON SCHEMA "${schema}" TO ${name}; GRANT SELECT ON ALL TABLES IN SCHEMA "${schema}" TO ${name}`,
  );
  atEnd(async () => {
    await run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${name}'`);
    await run(`DROP OWNED BY ${name}; DROP ROLE ${name}`);
  });
  const set = async (values: RoleSettings): Promise<void> => {
    const sets = Object.entries(values).map(
      ([setting, value]) =>
        `ALTER ROLE ${name} SET ${pg.escapeIdentifier(setting)} = ${pg.escapeLiteral(value)}`,
    );
    await run([`ALTER ROLE ${name} RESET ALL`, ...sets].join("; "));
  };
  await set(settings);
  return { name, url: Object.assign(new URL(url), { username: name, password: name }).href, set };
}
