/** A process that is busy reads late what its database says: that is not a database that does not respond. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { ownTables } from "../../support/engines.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, serveManifest } from "../../support/service.js";

/** Longer than it takes until the database is suspected, and asked while the process is busy. */
const SECONDS = 9;
/** A check of the database's takes more turns of the event loop than its time limit has of these. */
const TURN_MS = 700;

const schema = await ownTables({
  postgres: `CREATE VIEW @.slow AS SELECT 1 AS id FROM pg_sleep(${String(SECONDS)})`,
  clickhouse: [
    `CREATE VIEW @.slow AS SELECT toInt32(max(sleepEachRow(1)) + 1) AS id FROM numbers(${String(SECONDS)})
      SETTINGS max_block_size = 1, function_sleep_max_microseconds_per_block = 0`,
  ],
});
const url = await serveManifest(
  manifestOf([{ name: "slow", schema, tags: ["production", "s", "api:slow"], columns: { id: "integer" } }]),
);

it("is not taken for a database that does not respond", async () => {
  const asked = sendRequest(url, "/v1/s/slow", { key: KEYS.tier3 });
  const state = { isAnswered: false };
  void asked.finally(() => (state.isAnswered = true));
  const clock = new Int32Array(new SharedArrayBuffer(4));
  for (let turns = 0; !state.isAnswered; turns++) {
    expect(turns).toBeLessThan(100);
    // It takes no processor time, and nothing else runs in this process.
    Atomics.wait(clock, 0, 0, TURN_MS);
    await nextTurn();
  }
  const { status, text } = await asked;
  expect([status, text]).toEqual([200, '[{"id":1}]']);
});
