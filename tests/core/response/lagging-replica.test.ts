import { expect, it } from "vitest";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { OwnServer } from "../../support/own-server.js";
import { KEYS, startManifest } from "../../support/service.js";

const REPLAYS_LATER = "1h";

/** A model that changes with builds only, served from a replica that replays each commit so much later. */
async function behindReplica() {
  const primary = await OwnServer.create();
  await primary.query("CREATE TABLE numbers AS SELECT 0 AS build");
  const replica = await primary.standby();
  const manifest = manifestOf([
    {
      name: "numbers",
      schema: "public",
      tags: ["production", "replica", "api:numbers"],
      columns: { build: "integer" },
      materialized: "table",
      routewright: { changes: "on_build" },
    },
  ]);
  const { url, recordBuilds } = await startManifest(manifest, { DATABASE_URL: replica.url });
  return {
    /**
     * A build of an incremental model. Resolves with its LSN, once the commit is acknowledged. (Where a table is
     * replaced, a replica that waits with the commit holds its lock meanwhile: readers wait for the new rows.)
     */
    build: async (build: number, commit: "local" | "remote_apply" = "local"): Promise<unknown> => {
      await primary.query(`SET synchronous_commit = ${commit}; BEGIN; DELETE FROM numbers;
        INSERT INTO numbers VALUES (${String(build)}); COMMIT`);
      const [row] = await primary.query("SELECT pg_current_wal_flush_lsn()::text AS lsn");
      return row?.["lsn"];
    },
    recordBuild: (day: number) =>
      recordBuilds([{ node: "model.test.numbers", completedAt: Date.UTC(2026, 4, day) }]),
    /** The date of the build that the response names, and of which build its rows are. */
    ask: async () => {
      const response = await sendRequest(url, "/v1/replica/numbers", { key: KEYS.tier3 });
      const [row] = JSON.parse(response.text) as readonly { readonly build: number }[];
      return [Number(String(response.headers["x-data-as-of"]).slice(8, 10)), row?.build];
    },
    tag: async () => (await sendRequest(url, "/v1/replica/numbers", { key: KEYS.tier3 })).headers.etag,
    replayLater: async (delay: string) => {
      await replica.query(`ALTER SYSTEM SET recovery_min_apply_delay = '${delay}'`);
      await replica.query("SELECT pg_reload_conf()");
      await expect
        .poll(() => replica.query("SELECT current_setting('recovery_min_apply_delay') AS delay"))
        .toEqual([{ delay }]);
    },
    hasReplayed: async (lsn: unknown) => {
      const [row] = await replica.query("SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn AS done", [lsn]);
      return row?.["done"];
    },
    waitForReplica: async () => {
      await primary.query("ALTER SYSTEM SET synchronous_standby_names = '*'");
      await primary.query("SELECT pg_reload_conf()");
      await expect
        .poll(() => primary.query("SELECT sync_state FROM pg_stat_replication"))
        .toEqual([{ sync_state: "sync" }]);
    },
  };
}

it("a build that is recorded before a replica has it puts old rows under its tag until the next; one that the replica has replayed does not", async () => {
  const { build, recordBuild, ask, tag, replayLater, hasReplayed, waitForReplica } = await behindReplica();
  recordBuild(1);
  expect(await ask()).toEqual([1, 0]);

  await replayLater(REPLAYS_LATER);
  const first = await tag();
  const lsn = await build(2);
  recordBuild(2);
  expect([await hasReplayed(lsn), await ask()]).toEqual([false, [2, 0]]);
  const early = await tag();
  expect(early).not.toBe(first);
  await replayLater("0");
  await expect.poll(() => hasReplayed(lsn)).toBe(true);
  // A client may hold the old rows under this tag: they are not replaced under it.
  expect([await ask(), await tag()]).toEqual([[2, 0], early]);

  // Recorded once the replica has replayed it.
  await replayLater("200ms");
  const next = await build(3);
  await expect.poll(() => hasReplayed(next)).toBe(true);
  recordBuild(3);
  expect(await ask()).toEqual([3, 3]);

  // The commit itself waits.
  await waitForReplica();
  const last = await build(4, "remote_apply");
  recordBuild(4);
  expect([await hasReplayed(last), await ask()]).toEqual([true, [4, 4]]);
});
