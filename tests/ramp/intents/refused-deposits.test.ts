/** What the database refuses to record of deposit accounts and of payments to them, as it would each time. */
import { describe, expect, it } from "vitest";
import { arrive, checkedCustomer, ended, open } from "../support/deposits.js";
import { eventually, ownWorld } from "../support/world.js";

const world = await ownWorld();
await world.sandbox.set({ settleMs: 50 });
const ada = await checkedCustomer(world);
const { auth } = ada;

describe("what the database refuses to record", () => {
  const attention = (id: string) =>
    world.rows('SELECT attention, failed_attempts AS "failed" FROM ramp.deposit_accounts WHERE id = $1', [
      id,
    ]);

  it("of one payment holds no other back, and needs attention until it can be", async () => {
    const { json } = await open(world, auth);
    const check = `refused_${String(json.id).slice(0, 8)}`;
    await world.rows(
      `ALTER TABLE ramp.intents ADD CONSTRAINT ${check} CHECK (deposit_reference <> 'REFUSED') NOT VALID`,
    );
    const deposit = await arrive(world, json.id, { reference: "REFUSED" });
    await arrive(world, json.id, { id: "after-the-refused" });
    const all = await ended(world, ada, json.id, 1);
    expect(all.map(({ intent }) => intent.deposit.id)).toEqual(["after-the-refused"]);
    const problem = `deposit ${deposit}: the database refuses to record it (23514 ${check})`;
    const [row] = await eventually(
      () => attention(String(json.id)),
      ([one]) => one?.["attention"] !== null,
    );
    expect(row).toMatchObject({ attention: problem });
    await world.rows(`ALTER TABLE ramp.intents DROP CONSTRAINT ${check}`);
    await ended(world, ada, json.id, 2);
    await eventually(
      () => attention(String(json.id)),
      ([one]) => one?.["attention"] === null,
    );
  });

  it("of an account needs attention, and is asked for again with growing pauses", async () => {
    const { json } = await open(world, auth);
    const id = String(json.id);
    const check = `closing_${id.slice(0, 8)}`;
    await world.rows(
      `ALTER TABLE ramp.deposit_accounts ADD CONSTRAINT ${check} CHECK (id <> '${id}' OR status <> 'CLOSED') NOT VALID`,
    );
    const path = `/v1/deposit-accounts/${id}/close`;
    expect((await world.call("POST", path, { auth: ada.project.basic, body: {} })).status).toBe(202);
    const [row] = await eventually(
      () => attention(id),
      ([one]) => Number(one?.["failed"]) > 1,
    );
    expect(row?.["attention"]).toBe(`the database refuses to record the answer (23514 ${check})`);
    await world.rows(`ALTER TABLE ramp.deposit_accounts DROP CONSTRAINT ${check}`);
    const read = () => world.call("GET", `/v1/customers/deposit-accounts/${id}`, { auth });
    await eventually(read, ({ json: account }) => account.status === "CLOSED");
  });
});
