/** Sequence numbers of events in a database that was restored: above all that were sent, or refused until the operator tells. */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { migrate } from "../../../runtime/ramp/database/migrate.js";
import { routewright } from "../support/command-line.js";
import { migratedDatabase } from "../support/migrated.js";
import { ownDatabase, queryAt } from "../support/world.js";

const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;
const sequenceOf = (milliseconds: number): bigint => BigInt(milliseconds) * 1_000n;

/** A database with a project whose last event is of `lastAt`, and one that has none. */
async function backedUp(lastAt: number) {
  const url = await migratedDatabase();
  const [told, quiet] = [randomUUID(), randomUUID()];
  await migrate(url);
  await queryAt(
    url,
    `SET ramp.operator = 'on'; INSERT INTO ramp.organizations (id, name) VALUES ('${told}', 'x');
     INSERT INTO ramp.projects (id, organization_id, name, client_id) SELECT id, '${told}', 'x', 'x' || id FROM unnest(ARRAY['${told}', '${quiet}']::uuid[]) id;
     INSERT INTO ramp.change_times (project_id, changed_at) VALUES ('${told}', '${new Date(lastAt).toISOString()}')`,
  );
  return { url, told, quiet };
}

/** The last sequence numbers, of the project with an event and of the one without. */
async function lastOf(url: string, { told, quiet }: { told: string; quiet: string }) {
  const rows = await queryAt(
    url,
    "SELECT project_id AS id, (extract(epoch FROM changed_at) * 1000000)::bigint::text AS last FROM ramp.change_times",
  );
  return [told, quiet].map((project) => {
    const last = rows.find(({ id }) => id === project)?.["last"];
    return last === undefined ? null : BigInt(String(last));
  });
}

/** The database in another one, as a restore leaves it. */
async function restored(lastAt = Date.now() - HOUR_MS) {
  const { url, ...projects } = await backedUp(lastAt);
  const copy = await ownDatabase(url);
  return { url: copy, last: () => lastOf(copy, projects) };
}

const isAbove = (after: bigint) => (last: bigint | null) => last !== null && last >= after;

it("stay as they are in the database of before, whatever the clocks say", async () => {
  const { url, ...projects } = await backedUp(Date.now() + HOUR_MS);
  const before = await lastOf(url, projects);
  await migrate(url, undefined, null, { machineTime: () => 0 });
  expect(await lastOf(url, projects)).toEqual(before);
});

it("go on from now, of each project, also of one without an event in the backup", async () => {
  const { url, last } = await restored();
  const now = Date.now();
  // The database's clock is half a minute behind: the later one counts.
  await migrate(url, undefined, null, { machineTime: () => now + 30_000 });
  const went = await last();
  expect(went.every(isAbove(sequenceOf(now + 30_000)))).toBe(true);
  await migrate(url, undefined, null, { machineTime: () => now + YEAR_MS });
  expect(await last()).toEqual(went);
});

describe("where clock and backup contradict each other", () => {
  it.each([
    ["the database's clock is minutes behind", 10 * 60_000, -HOUR_MS],
    ["the database's clock is a day behind", 25 * HOUR_MS, -HOUR_MS],
    ["the database's clock is years behind", 2 * YEAR_MS, -HOUR_MS],
    ["the database's clock is ahead", -25 * HOUR_MS, -HOUR_MS],
    ["both clocks are before the last event", 0, HOUR_MS],
  ])("nothing starts until the operator tells: %s", async (_, machineOff, lastOff) => {
    const lastAt = Date.now() + lastOff;
    const { url, last } = await restored(lastAt);
    const before = await last();
    const machineTime = (): number => Date.now() + machineOff;
    for (let attempt = 0; attempt < 2; attempt++)
      await expect(migrate(url, undefined, null, { machineTime })).rejects.toThrow(
        /not clear which time it is: the database's clock 20.* this machine's clock 20.* the last event of the backup 20.*--events-after/,
      );
    expect(await last()).toEqual(before);
    const eventsAfter = sequenceOf(Date.now() + machineOff) + 123n;
    await migrate(url, undefined, null, { machineTime, eventsAfter });
    const went = await last();
    expect(went.every(isAbove(eventsAfter))).toBe(true);
    // Numbers that counted on from the backup's last one are left out too.
    expect(isAbove(sequenceOf(lastAt) + (lastOff > 0 ? 60_000_000n : 1n))(went[0] ?? null)).toBe(true);
    await migrate(url, undefined, null, { machineTime });
    expect(await last()).toEqual(went);
  });
});

it("go on above what the operator says, by the command", async () => {
  const { url, last } = await restored();
  process.env["DATABASE_URL"] = url;
  process.env["RAMP_SECRETS_KEY"] = "ab".repeat(32);
  const after = (given: string) => routewright("migrate", "--events-after", given);
  for (const wrong of [
    "",
    "yesterday",
    "177232332000100",
    "1000000000000000",
    "9999999999999999",
    "2026-11-29",
  ])
    expect(await after(wrong)).toMatchObject({ exit: 2, error: expect.stringContaining("16 digits") });
  const time = new Date(Date.now() + HOUR_MS).toISOString();
  expect((await after(time)).exit).toBe(0);
  expect((await last()).every(isAbove(sequenceOf(Date.parse(time))))).toBe(true);
  const sequence = sequenceOf(Date.now() + YEAR_MS) + 7n;
  expect((await after(String(sequence))).exit).toBe(0);
  expect((await last()).every((given) => given === sequence)).toBe(true);
});
