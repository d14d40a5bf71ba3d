import { readFile, stat } from "node:fs/promises";

import { EmbeddedPostgresUnavailable } from "./unavailable.js";

/** Whom a child process runs as. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** In order of preference: PostgreSQL's own account (Debian's name, macOS's name), then the one every system has. */
const PREFERRED = ["postgres", "_postgres", "nobody"];

/**
 * The account that PostgreSQL's programs run under: `undefined`, our own, unless we are root, which they refuse to
 * be. A cluster that exists keeps its owner. A new one gets an account named in /etc/passwd: initdb looks itself up
 * there and fails under a mere number.
 */
export async function serverAccount(clusterDirectory: string): Promise<Account | undefined> {
  if (process.geteuid?.() !== 0) return undefined;
  const owner = await stat(clusterDirectory).catch(() => undefined);
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  const accounts = accountsIn(await readFile("/etc/passwd", "utf8").catch(() => ""));
  const name = PREFERRED.find((each) => accounts.has(each));
  if (name) return accounts.get(name);
  throw new EmbeddedPostgresUnavailable(
    `PostgreSQL refuses to run as root, and /etc/passwd has none of ${PREFERRED.join(", ")} to run it as`,
  );
}

/** Name to account, from the text of /etc/passwd. Ids are unsigned there except on macOS, where nobody is -2. */
function accountsIn(passwd: string): Map<string, Account> {
  const rows = passwd.split("\n").map((line) => line.split(":"));
  const named = rows.map(([name = "", , uid, gid]): [string, Account] => [
    name,
    { uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 },
  ]);
  return new Map(named.filter(([, account]) => account.uid !== 0));
}
