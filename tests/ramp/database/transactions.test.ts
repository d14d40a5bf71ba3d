import { expect, it } from "vitest";
import { sendRequest } from "../../../runtime/core/http/outbound-http.js";
import { PublicNames } from "../../../runtime/webhooks/public-names.js";
import { systemLookup } from "../../../runtime/core/http/name-lookup.js";
import { atEnd } from "../../support/at-end.js";
import { newId, projectId } from "../../../runtime/ramp/database/id.js";
import { openDatabase } from "../../../runtime/ramp/database/ramp-database.js";
import type { ProjectTransaction } from "../../../runtime/ramp/database/transaction.js";
import { ownWorld } from "../support/world.js";

const world = await ownWorld();
const project = projectId((await world.project()).id);
const database = await openDatabase({ url: world.databaseUrl, onIdleError: () => undefined });
atEnd(() => database.close());

function addEndpoint(tx: ProjectTransaction): string {
  const id = newId();
  tx.insert("webhook_endpoints", { id, url: "https://shop.example/events", secret: Buffer.alloc(1) });
  return id;
}

/** Rows that the transaction has inserted and updated so far. */
async function written(tx: ProjectTransaction): Promise<readonly number[]> {
  const row = await tx.row<{ inserted: number; updated: number }>(
    `SELECT pg_stat_get_xact_tuples_inserted(t)::int AS inserted, pg_stat_get_xact_tuples_updated(t)::int AS updated
     FROM CAST('ramp.webhook_endpoints' AS regclass) AS t`,
  );
  return row ? [row.inserted, row.updated] : [];
}

it("writes changes of a row that follow each other once, with the last value of a column", async () => {
  const id = await database.inProject(project, async (tx) => {
    const added = addEndpoint(tx);
    tx.update("webhook_endpoints", added, { enabled: false });
    expect(await written(tx)).toEqual([1, 0]);
    tx.update("webhook_endpoints", added, { failures: 1 });
    tx.update("webhook_endpoints", added, { concurrency: 2 });
    tx.update("webhook_endpoints", added, { failures: 2 });
    expect(await written(tx)).toEqual([1, 1]);
    return added;
  });
  const other = await database.inProject(project, async (tx) => {
    const added = addEndpoint(tx);
    tx.update("webhook_endpoints", id, { failures: 3 });
    expect(await tx.ahead.row("SELECT FROM ramp.webhook_endpoints WHERE id = $1", [added])).toEqual({});
    tx.update("webhook_endpoints", id, { concurrency: 3 });
    return added;
  });
  const rows = `SELECT enabled, failures, concurrency FROM ramp.webhook_endpoints WHERE id IN ($1, $2) ORDER BY failures DESC`;
  expect(await database.of(project).rows(rows, [id, other])).toEqual([
    { enabled: false, failures: 3, concurrency: 3 },
    { enabled: true, failures: 0, concurrency: 10 },
  ]);
});

it("repeats the work at the time of a jump that this server has not noticed, and keeps only that", async () => {
  const times: Date[] = [];
  const add = (tx: ProjectTransaction): Promise<string> => {
    times.push(tx.now);
    return Promise.resolve(addEndpoint(tx));
  };
  const count = async (): Promise<unknown> =>
    database.of(project).row("SELECT count(*)::int AS n FROM ramp.webhook_endpoints");
  const before = (await count()) as { n: number };
  await database.operator.rows("INSERT INTO ramp.clock_jumps (milliseconds) VALUES (86400000)");
  await database.inProject(project, add);
  const [first = new Date(), second = first, ...others] = times;
  expect(others).toEqual([]);
  expect(Math.round((second.getTime() - first.getTime()) / 86_400_000)).toBe(1);
  expect(await count()).toEqual({ n: before.n + 1 });
});

it.each([
  [
    "a request",
    () => sendRequest({ url: new URL(world.url), method: "GET", headers: {}, body: "", timeoutMs: 1 }),
  ],
  ["the name of a webhook", () => new PublicNames().leadsToPrivate(new URL("https://shop.example"), project)],
  ["a name of the system", () => new Promise((resolve) => systemLookup("localhost", {}, resolve))],
  ["another transaction", () => database.of(project).row("SELECT 1")],
])("throws where the work awaits %s", async (_name, wait) => {
  const work = async (tx: ProjectTransaction): Promise<unknown> => {
    await tx.row("SELECT 1");
    return wait();
  };
  await expect(database.inProject(project, work)).rejects.toThrow(/inside of a transaction/);
  await wait();
});
