/** Receivers that do what receivers should not, in a process of their own, beside one that does what it should. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { DEFAULT_DELIVERY_POLICY } from "../../../runtime/ramp/webhooks/deliveries.js";
import { atEnd } from "../../support/at-end.js";
import { startProcess } from "../support/processes.js";
import { ownWorld, untilTrue } from "../support/world.js";

/** What each comes to within the time limit. */
const RESULTS: Readonly<Record<string, RegExp>> = {
  "/hang": /^timeout$/,
  "/drip-head": /^timeout$/,
  "/drip-body": /^200$/,
  "/reset": /^ECONNRESET$/,
  "/large-header": /^HPE_HEADER_OVERFLOW$/,
  "/many-headers": /^HPE_HEADER_OVERFLOW$/,
  "/endless-headers": /^HPE_HEADER_OVERFLOW$/,
  "/endless-body": /^200$/,
  "/endless-extension": /^200$/,
  "/endless-chunks": /^200$/,
  "/endless-trailers": /^200$/,
  "/redirect": /^307$/,
  "/no-http": /^HPE_/,
  "/slower": /^(204|timeout)$/,
};
/** Of each of them at a time, again and again. */
const EACH = 20;
const QUIET_EVENTS = 40;

it("none of them delays another project's deliveries, or stays longer than the time limit", async () => {
  // Each in a process of its own: floods hold the one that sends them, too.
  const [hostile, good] = [
    await startProcess("./hostile-receiver.ts"),
    await startProcess("./hostile-receiver.ts"),
  ];
  atEnd(async () => {
    await Promise.all([hostile.kill("SIGKILL"), good.kill()]);
  });
  const { said: url } = hostile;
  const world = await ownWorld({ deliveries: { ...DEFAULT_DELIVERY_POLICY, timeoutMs: 10_000 } });
  const project = () => world.project({ providers: [] });
  const [loud, harmless, quiet] = [await project(), await project(), await project()];
  for (const path of Object.keys(RESULTS)) {
    await world.webhook(loud, url + path, { concurrency: 10 });
    await world.webhook(harmless, `${good.said}/good`, { concurrency: 10 });
  }
  await world.webhook(quiet, `${good.said}/good`);
  const deliver = (id: string, count: number) =>
    world.rows(
      `WITH event AS (INSERT INTO ramp.events (project_id, id, type, sequence, body)
         SELECT $1, gen_random_uuid(), 'intent.status_changed', nextval('ramp.event_sequence'), '{}' FROM generate_series(1, $2)
         RETURNING project_id, id)
       INSERT INTO ramp.webhook_deliveries (project_id, event_id, endpoint_id, attempt_at)
       SELECT event.project_id, event.id, e.id, now() FROM event, ramp.webhook_endpoints e WHERE e.project_id = $1`,
      [id, count],
    );
  /** The longest time from when an event was due until it was delivered. */
  const slowest = async (): Promise<number> => {
    await world.rows("DELETE FROM ramp.webhook_deliveries WHERE project_id = $1", [quiet.id]);
    for (let n = 0; n < QUIET_EVENTS; n++) {
      await deliver(quiet.id, 1);
      await sleep(50);
    }
    const all = `SELECT bool_and(status = 'DELIVERED') FROM ramp.webhook_deliveries WHERE project_id = $1`;
    await untilTrue(() => world.holds(all, [quiet.id]));
    const [row] = await world.rows(
      `SELECT max(extract(epoch FROM d.updated_at - v.created_at))::float AS most FROM ramp.webhook_deliveries d
       JOIN ramp.events v ON v.project_id = d.project_id AND v.id = d.event_id WHERE d.project_id = $1`,
      [quiet.id],
    );
    return Number(row?.["most"]);
  };
  await deliver(harmless.id, EACH);
  const besideHarmless = await slowest();
  await deliver(loud.id, EACH);
  const besideHostile = await slowest();
  console.log(
    `slowest delivery beside harmless receivers ${besideHarmless.toFixed(2)} s, beside hostile ones ${besideHostile.toFixed(2)} s`,
  );
  // One that fails beside them is tried again after a minute.
  expect(besideHostile).toBeLessThan(Math.max(30, 4 * besideHarmless));
  const waiting = `SELECT NOT EXISTS (SELECT FROM ramp.webhook_deliveries WHERE project_id = $1 AND (attempts = 0 OR attempted_until IS NOT NULL))`;
  await untilTrue(() => world.holds(waiting, [loud.id]));
  const found = await world.rows(
    `SELECT substr(e.url, $2) AS path, array_agg(DISTINCT d.last_result) AS results FROM ramp.webhook_deliveries d
     JOIN ramp.webhook_endpoints e ON e.project_id = d.project_id AND e.id = d.endpoint_id WHERE d.project_id = $1 GROUP BY 1`,
    [loud.id, url.length + 1],
  );
  for (const { path, results } of found) {
    // A connection can be taken again while the receiver closes it.
    const own = (results as readonly string[]).filter((result) => result !== "ECONNRESET");
    const expected = expect.stringMatching(RESULTS[String(path)] ?? /^$/) as unknown;
    expect([path, own]).toEqual([path, own.map(() => expected)]);
  }
  expect(found).toHaveLength(Object.keys(RESULTS).length);
}, 300_000);
