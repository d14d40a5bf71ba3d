import { execFileSync } from "node:child_process";
import { chownSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { atEnd } from "../../support/at-end.js";
import { queryAt } from "../../support/database.js";
import { programPath } from "../../support/needs.js";
import { freePort } from "../../support/port.js";

/** PostgreSQL refuses to run as root: then it runs as `nobody`. */
const NOBODY = 65_534;

/**
 * An empty PostgreSQL cluster of a test's own with a database `ramp`, for its superuser, or for an owner who may do nothing else in the
 * cluster, as managed databases have it.
 */
export async function ownCluster(kind: "superuser" | "owner") {
  const bin = dirname(programPath("initdb"));
  const folder = mkdtempSync(join(tmpdir(), "ramp-cluster-"));
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chownSync(folder, NOBODY, NOBODY);
  const as = { stdio: "ignore", cwd: folder, ...(isRoot && { uid: NOBODY, gid: NOBODY }) } as const;
  const data = join(folder, "data");
  const port = await freePort();
  execFileSync(
    join(bin, "initdb"),
    ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"],
    as,
  );
  const settings = `-p ${String(port)} -h 127.0.0.1 -k ${folder} -c fsync=off -c shared_buffers=16MB`;
  execFileSync(
    join(bin, "pg_ctl"),
    ["-D", data, "-w", "-l", join(folder, "log"), "-o", settings, "start"],
    as,
  );
  atEnd(() => {
    execFileSync(join(bin, "pg_ctl"), ["-D", data, "-w", "-m", "immediate", "stop"], as);
    rmSync(folder, { recursive: true });
  });
  const urlOf = (user: string, name: string): string =>
    `postgres://${user}@127.0.0.1:${String(port)}/${name}`;
  const user = kind === "owner" ? "owner" : "postgres";
  const admin = urlOf("postgres", "postgres");
  if (kind === "owner") await queryAt(admin, "CREATE ROLE owner LOGIN NOSUPERUSER NOCREATEROLE NOBYPASSRLS");
  await queryAt(admin, `CREATE DATABASE ramp OWNER ${user}`);
  return {
    url: urlOf(user, "ramp"),
    folder,
    /** With the programs of this PostgreSQL first. */
    path: [bin, process.env["PATH"] ?? ""].join(delimiter),
    /** Rows of each table, as the superuser counts them. */
    async counts(): Promise<Record<string, string>> {
      const rows = await queryAt(
        urlOf("postgres", "ramp"),
        `SELECT table_name AS name, (xpath('//c/text()', query_to_xml('SELECT count(*) AS c FROM ramp.' || table_name, false, true, '')))[1]::text AS count
         FROM information_schema.tables WHERE table_schema = 'ramp' AND table_type = 'BASE TABLE'`,
      );
      return Object.fromEntries(rows.map(({ name, count }) => [String(name), String(count)]));
    },
  };
}
