import { describe, expect, it } from "vitest";
import { insist } from "../support/recovery.js";
import { expectRefused, newCustomer, onramp, ownWorld, type Reply } from "../support/world.js";

const world = await ownWorld();
const project = await world.project();

async function payable(auth: string): Promise<string> {
  const { json, text } = await world.call("POST", "/v1/intent", { auth, body: onramp() });
  expect(json?.intent?.status, text).toBe("PENDING_PAYMENT");
  return json.intent.id as string;
}

const times = <T>(count: number, act: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, act));
const bodies = (replies: readonly Reply[]): Set<string> =>
  new Set(replies.map(({ status, text }) => `${String(status)} ${text}`));

describe("fifty identical requests to execute at once", () => {
  it("with a key give one execution and fifty identical answers", async () => {
    const auth = await newCustomer(world, project);
    const id = await payable(auth);
    const before = await world.sandbox.executed();
    // A client repeats what is still in progress after some seconds.
    const replies = await times(50, () =>
      insist(world.url, "POST", `/v1/intent/${id}/transaction`, { auth, key: `execute-${id}` }),
    );
    expect(bodies(replies).size).toBe(1);
    expect(replies[0]?.status).toBe(202);
    expect(replies.filter(({ headers }) => headers.get("x-idempotency-replayed") === "true")).toHaveLength(
      49,
    );
    await expect.poll(async () => (await world.sandbox.executed()).length - before.length).toBe(1);
  });

  it("without a key give one execution and forty-nine refusals", async () => {
    const auth = await newCustomer(world, project);
    const id = await payable(auth);
    const before = await world.sandbox.executed();
    const replies = await times(50, () => world.call("POST", `/v1/intent/${id}/transaction`, { auth }));
    expect(replies.filter(({ status }) => status === 202)).toHaveLength(1);
    expect(
      replies.filter(({ status, json }) => status === 400 && json.error === "TRANSACTION_EXISTS"),
    ).toHaveLength(49);
    await expect.poll(async () => (await world.sandbox.executed()).length - before.length).toBe(1);
  });
});

describe("a key", () => {
  it("of 256 characters replays the first answer byte for byte, though the intent has moved on", async () => {
    const auth = await newCustomer(world, project);
    const key = "k".repeat(256);
    const first = await world.call("POST", "/v1/intent", { auth, key, body: onramp() });
    await world.call("POST", `/v1/intent/${first.json.intent.id}/transaction`, { auth });
    const second = await world.call("POST", "/v1/intent", { auth, key, body: onramp() });
    expect(second.text).toBe(first.text);
    expect(second.status).toBe(first.status);
    expect(first.headers.get("x-idempotency-replayed")).toBeNull();
    expect(second.headers.get("x-idempotency-replayed")).toBe("true");
  });

  it("is of the body as it was sent: one that differs in the last digit of a large number is another", async () => {
    const auth = await newCustomer(world, project);
    const send = (digit: number) => {
      const text = JSON.stringify(onramp({ metadata: {} })).replace(
        "{}",
        `{"n":1234567890123456789${String(digit)}}`,
      );
      return world.call("POST", "/v1/intent", { auth, key: "digits", text });
    };
    const first = await send(1);
    expect(first.status, first.text).toBe(201);
    expect((await send(1)).text).toBe(first.text);
    expectRefused([await send(2)], 422, "IDEMPOTENCY_KEY_REUSED");
  });

  it("with another body, path or customer is refused, also when the other body is not valid", async () => {
    const auth = await newCustomer(world, project);
    const first = await world.call("POST", "/v1/intent", { auth, key: "other", body: onramp() });
    const other = { auth, key: "other" };
    const stranger = await newCustomer(world, project);
    const replies = [
      await world.call("POST", "/v1/intent", { ...other, body: onramp({ srcAmount: "99" }) }),
      await world.call("POST", "/v1/intent", { ...other, body: { srcAmount: "-1" } }),
      await world.call("POST", "/v1/intent", { ...other, text: "{" }),
      await world.call("POST", `/v1/intent/${first.json.intent.id}/transaction`, other),
      await world.call("POST", "/v1/intent", { auth: stranger, key: "other", body: onramp() }),
      await world.call("POST", "/v1/customers", { auth: project.basic, key: "other", body: { id: "x" } }),
    ];
    expectRefused(replies, 422, "IDEMPOTENCY_KEY_REUSED");
  });

  it("of another project is another key", async () => {
    const other = await world.project();
    const [mine, theirs] = [await newCustomer(world, project), await newCustomer(world, other)];
    const first = await world.call("POST", "/v1/intent", { auth: mine, key: "shared", body: onramp() });
    const second = await world.call("POST", "/v1/intent", { auth: theirs, key: "shared", body: onramp() });
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.json.intent.id).not.toBe(first.json.intent.id);
  });

  it("is not used up by a request that is refused before work begins", async () => {
    const auth = await newCustomer(world, project);
    const refused = await world.call("POST", "/v1/intent", {
      auth,
      key: "repaired",
      body: onramp({ srcAmount: "0" }),
    });
    expect([refused.status, refused.json.error]).toEqual([400, "INVALID_AMOUNT"]);
    const unknown = await world.call("POST", "/v1/intent", {
      auth: "Bearer x.y.z",
      key: "repaired",
      body: onramp(),
    });
    expect(unknown.status).toBe(401);
    expect((await world.call("POST", "/v1/intent", { auth, key: "repaired", body: onramp() })).status).toBe(
      201,
    );
  });

  it("is not used up by an execution that is refused, and serves once that is possible", async () => {
    const auth = await newCustomer(world, project);
    const body = onramp({ srcAmount: "500.00" });
    const { json } = await world.call("POST", "/v1/intent", { auth, body });
    const path = `/v1/intent/${json.intent.id}/transaction`;
    const early = await world.call("POST", path, { auth, key: "early" });
    expect([early.status, early.json.error]).toEqual([400, "COMPLIANCE_NOT_COMPLETE"]);
    const again = await world.call("POST", path, { auth, key: "early" });
    expect(again.headers.get("x-idempotency-replayed")).toBeNull();
  });

  it.each([
    ["empty", ""],
    ["of 257 characters", "k".repeat(257)],
  ])("that is %s is refused", async (_, key) => {
    const auth = await newCustomer(world, project);
    const reply = await world.call("POST", "/v1/intent", { auth, key, body: onramp() });
    expect([reply.status, reply.json.error]).toEqual([400, "INVALID_IDEMPOTENCY_KEY"]);
  });

  it("replays the token of a customer's creation", async () => {
    const request = { auth: project.basic, key: "customer", body: { id: "idempotent" } };
    const first = await world.call("POST", "/v1/customers", request);
    const second = await world.call("POST", "/v1/customers", request);
    expect(first.status).toBe(201);
    expect(second.text).toBe(first.text);
    expect(second.headers.get("x-idempotency-replayed")).toBe("true");
  });

  it("keeps its answer unreadable in the database", async () => {
    await world.call("POST", "/v1/customers", {
      auth: project.basic,
      key: "sealed",
      body: { id: "sealed-customer" },
    });
    const [row] = await world.rows("SELECT response_body FROM ramp.idempotency_claims WHERE key = 'sealed'");
    const stored = (row?.["response_body"] as Buffer).toString("latin1");
    expect(stored).not.toContain("sealed-customer");
    expect(stored).not.toContain("accessToken");
  });
});

describe("a concurrent duplicate", () => {
  const claim = (key: string, sql: string): Promise<unknown> =>
    world.rows(`UPDATE ramp.idempotency_claims SET ${sql} WHERE key = $1`, [key]);

  it("of a request that stays in progress gets 409", async () => {
    const auth = await newCustomer(world, project);
    await world.call("POST", "/v1/intent", { auth, key: "stuck", body: onramp() });
    await claim("stuck", "response_status = NULL, response_body = NULL");
    const reply = await world.call("POST", "/v1/intent", { auth, key: "stuck", body: onramp() });
    expect([reply.status, reply.json.error]).toEqual([409, "IDEMPOTENCY_IN_PROGRESS"]);
    expect(reply.headers.get("retry-after")).not.toBeNull();
  });

  it("takes over from a crashed owner and finishes its work, without a second execution", async () => {
    const auth = await newCustomer(world, project);
    const id = await payable(auth);
    const request = { auth, key: `crashed-${id}` };
    const first = await world.call("POST", `/v1/intent/${id}/transaction`, request);
    const before = await world.sandbox.executed();
    await claim(
      request.key,
      "response_status = NULL, response_body = NULL, owned_until = now() - interval '1 s'",
    );
    const replies = await times(5, () => insist(world.url, "POST", `/v1/intent/${id}/transaction`, request));
    expect(bodies(replies).size).toBe(1);
    expect(replies[0]?.json).toMatchObject({ id: first.json.id });
    expect(await world.sandbox.executed()).toEqual(before);
  });

  it("comes too late after a day: the key is free again", async () => {
    const auth = await newCustomer(world, project);
    const first = await world.call("POST", "/v1/intent", { auth, key: "old", body: onramp() });
    await claim("old", "expires_at = now() - interval '1 s'");
    const second = await world.call("POST", "/v1/intent", {
      auth,
      key: "old",
      body: onramp({ srcAmount: "50" }),
    });
    expect(second.status).toBe(201);
    expect(second.json.intent.id).not.toBe(first.json.intent.id);
  });
});
