import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { expect, it } from "vitest";

import type { Cluster } from "../../runtime/embedded/cluster.js";
import { whyEnded } from "../../runtime/embedded/why-ended.js";
import { ownFolder } from "../support/service.js";

const UP = "LOG:  database system is ready to accept connections";

/** A cluster whose server wrote these lines; `wasKilled`: its `postmaster.pid` is still there. */
function clusterThatSaid(lines: readonly string[], wasKilled = false): Cluster {
  const folder = ownFolder();
  const data = join(folder, "postgres", "data");
  const log = join(folder, "postgres.log");
  mkdirSync(data, { recursive: true });
  const said = lines.map((line) =>
    line.startsWith("\t") ? line : `2026-01-02 03:04:05.678 UTC [99] ${line}`,
  );
  writeFileSync(log, `${said.join("\n")}\n`);
  if (wasKilled) writeFileSync(join(data, "postmaster.pid"), `99\n${data}\n1700000000\n5432\n`);
  return { data, log, password: "", tree: { directory: "", version: "18.0.0" }, account: undefined };
}

it("tells the last panic, without the statement under which it came", async () => {
  const cluster = clusterThatSaid([
    "PANIC:  of an earlier time",
    UP,
    'PANIC:  could not write to file "pg_wal/xlogtemp.7": No space left on device',
    "STATEMENT:  INSERT INTO keys VALUES ('PANIC:  secret')",
    "\t99 PANIC:  secret, too",
    "LOG:  aborting startup due to startup process failure",
    "LOG:  database system is shut down",
  ]);
  expect(await whyEnded(cluster)).toBe(
    'could not write to file "pg_wal/xlogtemp.7": No space left on device',
  );
});

it("leaves out in which folder a file lies", async () => {
  const cluster = clusterThatSaid([UP, 'PANIC:  could not open file "/home/secret/data/global/pg_control"']);
  expect(await whyEnded(cluster)).toBe('could not open file "pg_control"');
});

it("tells that it was stopped by somebody", async () => {
  const cluster = clusterThatSaid([UP, "LOG:  received fast shutdown request", "LOG:  shutting down"]);
  expect(await whyEnded(cluster)).toBe("received fast shutdown request");
});

it("does not take a client's refusal for the reason", async () => {
  const cluster = clusterThatSaid([UP, "FATAL:  sorry, too many clients already"], true);
  expect(await whyEnded(cluster)).toBe("it was killed, as when memory runs out");
});

it("says so when there is no telling", async () => {
  expect(await whyEnded(clusterThatSaid([UP]))).toBe("its log does not say why");
  const cluster = clusterThatSaid([]);
  rmSync(cluster.log);
  expect(await whyEnded(cluster)).toBe("its log does not say why");
});
