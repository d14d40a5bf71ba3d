/** The feed of a project's events, and what a project does about its webhooks, over HTTP. */
import { describe, expect, it } from "vitest";
import { setWebhook } from "../../../runtime/ramp/webhooks/endpoints.js";
import { recordEvent } from "../../../runtime/ramp/webhooks/events.js";
import { ownReceiver } from "../support/receiver.js";
import {
  call,
  eventually,
  expectRefused,
  made,
  newCustomer,
  onramp,
  ownWorld,
  reached,
  type Reply,
  type TestProject,
} from "../support/world.js";

const world = await ownWorld();
await world.sandbox.set({ settleMs: 20 });

interface FeedEvent {
  readonly id: string;
  readonly type: string;
  readonly sequence: number;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** All that a poller gets that goes on from the last event it has, a page at a time. */
async function pollAll(project: TestProject, from?: string): Promise<readonly FeedEvent[]> {
  const found: FeedEvent[] = [];
  for (let last = from; ; last = found.at(-1)?.id) {
    const after = last === undefined ? "" : `&starting_after=${last}`;
    const path = `/v1/events?order=asc&limit=100${after}`;
    const page = (await call(world.url, "GET", path, { auth: project.basic })).json as readonly FeedEvent[];
    if (page.length === 0) return found;
    found.push(...page);
  }
}

/** Polls until `isOver`, and once more. */
async function follow(project: TestProject, isOver: () => boolean): Promise<readonly FeedEvent[]> {
  const found: FeedEvent[] = [];
  for (let isLast = false; !isLast;) {
    isLast = isOver();
    found.push(...(await pollAll(project, found.at(-1)?.id)));
  }
  return found;
}

async function completed(auth: string): Promise<void> {
  const body = onramp({ autoExecute: true, metadata: { order: "A-1", exact: 1.5 } });
  const { status, json, text } = await world.call("POST", "/v1/intent", { auth, body });
  expect(status, text).toBe(201);
  const id = String(json.intent.id);
  await reached(world, `/v1/intent/${id}`, { auth }, "COMPLETED");
}

/** `INTENTS_AT_ONCE=300` is the full number. */
const INTENTS = Number(process.env["INTENTS_AT_ONCE"] ?? 100);

describe("the feed", () => {
  it(
    "loses none of many intents at once and gives none twice, to pollers that go on from their last event",
    { timeout: 600_000 },
    async () => {
      const project = await world.project();
      const auth = await newCustomer(world, project);
      let isOver = false as boolean;
      const pollers = [follow(project, () => isOver), follow(project, () => isOver)];
      const create = () => world.call("POST", "/v1/intent", { auth, body: onramp({ autoExecute: true }) });
      const created = await Promise.all(Array.from({ length: INTENTS }, create));
      expect(new Set(created.map(({ status }) => status))).toEqual(new Set([201]));
      const open =
        "SELECT NOT EXISTS (SELECT FROM ramp.intents WHERE project_id = $1 AND status <> 'COMPLETED')";
      await eventually(
        () => world.holds(open, [project.id]),
        (done) => done,
        300_000,
        500,
      );
      isOver = true;
      const stored = await world.rows("SELECT id FROM ramp.events WHERE project_id = $1 ORDER BY sequence", [
        project.id,
      ]);
      const ids = stored.map(({ id }) => String(id));
      expect(ids.length).toBeGreaterThanOrEqual(INTENTS * 11);
      for (const events of await Promise.all(pollers)) expect(events.map(({ id }) => id)).toEqual(ids);
    },
  );

  it("gives an event whose transaction began before, and commits after, another one", async () => {
    const project = await world.project();
    const record = (until: Promise<void>): Promise<void> =>
      world.database.inProject(project.id, async (tx) => {
        recordEvent(tx, { type: "webhook.test", intentId: null, data: {} });
        await tx.row("SELECT 1");
        await until;
      });
    let commit = (): void => undefined;
    const slow = record(new Promise<void>((resolve) => (commit = resolve)));
    await record(Promise.resolve());
    const first = await pollAll(project);
    commit();
    await slow;
    const rest = await pollAll(project, first.at(-1)?.id);
    expect([first.length, rest.length]).toEqual([1, 1]);
    expect(await pollAll(project, rest[0]?.id)).toEqual([]);
  });

  it("is newest first unless asked otherwise, page by page, by type, and the project's alone", async () => {
    const [project, other] = [await world.project(), await world.project()];
    await completed(await newCustomer(world, project));
    const forward = await pollAll(project);
    const get = (path: string, auth = project.basic): Promise<Reply> => world.call("GET", path, { auth });
    const newest = await get("/v1/events?limit=3");
    expect(newest.json).toEqual(forward.slice(-3).reverse());
    const next = /<([^>]+)>; rel="next"/.exec(newest.headers.get("link") ?? "")?.[1] ?? "";
    expect((await get(next)).json).toEqual(forward.slice(-6, -3).reverse());
    const moves = await get("/v1/events?type=intent.status_changed&order=asc");
    expect(moves.json).toEqual(forward.filter(({ type }) => type === "intent.status_changed"));
    expect((await get("/v1/events", other.basic)).json).toEqual([]);
    const [first] = forward;
    const one = `/v1/events/${String(first?.id)}`;
    expect((await get(one)).json).toEqual(first);
    expectRefused([await get(one, other.basic), await get("/v1/events/x")], 404, "NOT_FOUND");
    const foreign = `/v1/events?starting_after=${String(first?.id)}`;
    expectRefused(
      [await get(foreign, other.basic), await get("/v1/events?order=up")],
      400,
      "INVALID_REQUEST",
    );
  });

  it("goes on from a sequence, of an event that is gone too, or from a time, and its links do", async () => {
    const project = await world.project();
    await completed(await newCustomer(world, project));
    const all = await pollAll(project);
    const get = (query: string): Promise<Reply> =>
      world.call("GET", `/v1/events?order=asc&${query}`, { auth: project.basic });
    for (const [at, { id, sequence, timestamp }] of all.entries()) {
      const rest = all.slice(at + 1);
      expect((await get(`afterSequence=${String(sequence)}`)).json).toEqual(rest);
      expect((await get(`starting_after=${id}`)).json).toEqual(rest);
      const since = all.filter((event) => event.timestamp >= timestamp);
      expect((await get(`createdSince=${timestamp}`)).json).toEqual(since);
      expect(new Date(sequence / 1_000).toISOString()).toBe(timestamp);
    }
    const [first, second] = all;
    const pages = `afterSequence=${String(first?.sequence)}&limit=3`;
    const page = await get(pages);
    expect(page.json).toEqual(all.slice(1, 4));
    const next = /<([^>]+)>; rel="next"/.exec(page.headers.get("link") ?? "")?.[1] ?? "";
    expect((await world.call("GET", next, { auth: project.basic })).json).toEqual(all.slice(4, 7));
    await world.rows("DELETE FROM ramp.webhook_deliveries WHERE event_id = $1", [first?.id]);
    await world.rows("DELETE FROM ramp.events WHERE id = $1", [first?.id]);
    expect((await get(`afterSequence=${String(first?.sequence)}`)).json[0]).toEqual(second);
    const newestFirst = `/v1/events?afterSequence=${String(second?.sequence)}`;
    const latest = await world.call("GET", newestFirst, { auth: project.basic });
    expect(latest.json).toEqual(all.slice(2).reverse());
    const wrong = ["afterSequence=x", "afterSequence=-1", "createdSince=noon"].map(get);
    expectRefused(await Promise.all(wrong), 400, "INVALID_REQUEST");
  });

  it("lists the events of one transaction in the order of the changes", async () => {
    const project = await world.project();
    await completed(await newCustomer(world, project));
    const told = (await pollAll(project)).map(({ type, data }) => [type, data["status"], data["intent"]]);
    const before = new Map<string, unknown>();
    for (const [type, status, intent] of told) {
      const { status: of, transaction } = intent as Record<string, unknown>;
      // The event of a cause comes before that of its effect.
      if (type === "intent.status_changed" && status === "COMPLETED")
        expect(before.get("transaction.updated")).toBe("SUCCESS");
      if (type === "intent.status_changed" && status === "COMPLIANCE_APPROVED")
        expect(before.get("compliance.updated")).toBe("COMPLETED");
      if (type === "intent.status_changed") expect(of).toBe(status);
      if (type === "transaction.updated") expect((transaction as { status: string }).status).toBe(status);
      before.set(String(type), status);
    }
    expect(before).toEqual(
      new Map<string, unknown>([
        ["intent.status_changed", "COMPLETED"],
        ["compliance.updated", "COMPLETED"],
        ["transaction.updated", "SUCCESS"],
      ]),
    );
  });

  it("names nobody after an erasure, and keeps its places", async () => {
    const project = await world.project();
    const id = crypto.randomUUID();
    await completed(await newCustomer(world, project, id));
    const before = await pollAll(project);
    expect(JSON.stringify(before)).toContain(id);
    expect(JSON.stringify(before)).toContain("A-1");
    const erased = await world.call("DELETE", `/v1/customers/${id}`, { auth: project.basic });
    expect(erased.status, erased.text).toBe(204);
    const after = await pollAll(project);
    const place = ({ id: event, type, sequence }: FeedEvent) => ({ event, type, sequence });
    expect(after.map(place)).toEqual(before.map(place));
    expect(JSON.stringify(after)).not.toContain(id);
    expect(JSON.stringify(after)).not.toContain("A-1");
    expect(await pollAll(project, before.at(2)?.id)).toHaveLength(before.length - 3);
  });
});

describe("a project's webhooks over HTTP", () => {
  const of = (project: TestProject) => ({
    get: (path: string): Promise<Reply> => world.call("GET", path, { auth: project.basic }),
    post: (path: string, body: unknown = {}, key?: string): Promise<Reply> =>
      world.call("POST", path, { auth: project.basic, body, ...(key !== undefined && { key }) }),
    patch: (path: string, body: unknown): Promise<Reply> =>
      world.call("PATCH", path, { auth: project.basic, body }),
    remove: (path: string): Promise<Reply> => world.call("DELETE", path, { auth: project.basic }),
  });

  it("are made once per key, changed, switched off and on, and deleted", async () => {
    const project = await world.project();
    const { get, post, patch, remove } = of(project);
    const given = { url: "https://shop.example/events", eventTypes: ["intent.status_changed"] };
    const [first, again] = [
      await post("/v1/webhooks", given, "once"),
      await post("/v1/webhooks", given, "once"),
    ];
    expect(first.status, first.text).toBe(201);
    expect(again.text).toBe(first.text);
    const { secret, ...webhook } = first.json;
    expect(secret).toMatch(/^whsec_/);
    expect(webhook).toMatchObject({ ...given, concurrency: 10, enabled: true });
    const path = `/v1/webhooks/${String(webhook.id)}`;
    expect((await get("/v1/webhooks")).json).toEqual([webhook]);
    expect((await get(path)).json).toEqual(webhook);
    const change = { url: "https://shop.example/other", eventTypes: null, concurrency: 3, enabled: false };
    const changed = await patch(path, change);
    expect(changed.json).toMatchObject({ url: change.url, concurrency: 3, enabled: false });
    expect(changed.json).not.toHaveProperty("eventTypes");
    expect(changed.json.undeliverable).toMatch(/switched off/);
    expectRefused([await post(`${path}/test`)], 409, "WEBHOOK_DISABLED");
    expect((await patch(path, { enabled: true })).json).toMatchObject({ url: change.url, enabled: true });
    expect((await remove(path)).status).toBe(204);
    const gone = [await get(path), await patch(path, {}), await remove(path), await post(`${path}/test`)];
    expectRefused(gone, 404, "NOT_FOUND");
  });

  it.each([
    "http://127.0.0.1:9/",
    "http://localhost/",
    "http://[::1]/",
    "http://169.254.169.254/",
    "ftp://x.example/",
    "no url",
  ])("do not lead to %s", async (url) => {
    const project = await world.project();
    const { post, patch } = of(project);
    const webhook = (await post("/v1/webhooks", { url: "https://shop.example/" })).json;
    const refused = [
      await post("/v1/webhooks", { url }),
      await patch(`/v1/webhooks/${String(webhook.id)}`, { url }),
    ];
    expectRefused(refused, 400, "INVALID_REQUEST");
    expect(refused.map(({ json }) => json.details[0].path)).toEqual(["/url", "/url"]);
  });

  it("get a test event alone, whose deliveries say what became of it, and a replay", async () => {
    const [project, receiver, second] = [await world.project(), await ownReceiver(), await ownReceiver()];
    const { get, post, patch } = of(project);
    const { webhookId, secret } = await world.webhook(project, receiver.url, {
      eventTypes: ["intent.attention"],
    });
    await world.webhook(project, second.url);
    receiver.status = 503;
    const sent = await post(`/v1/webhooks/${webhookId}/test`, {}, "test");
    expect(sent.status, sent.text).toBe(202);
    expect((await post(`/v1/webhooks/${webhookId}/test`, {}, "test")).text).toBe(sent.text);
    const event = `/v1/events/${String(sent.json.eventId)}`;
    const failed = await eventually(
      () => get(`${event}/deliveries`),
      ({ json }) => json[0]?.lastResult !== undefined,
    );
    expect(failed.json).toEqual([
      {
        id: expect.any(String),
        webhookId,
        status: "PENDING",
        attempts: 1,
        nextAttemptAt: expect.any(String),
        lastResult: "503",
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      },
    ]);
    receiver.status = 204;
    expect((await post(`${event}/replay`)).json).toEqual({ replayed: 1 });
    await eventually(
      () => get(`${event}/deliveries`),
      ({ json }) => json[0].status === "DELIVERED",
    );
    const [, delivered] = receiver.verified(secret);
    const { id, ...stored } = (await get(event)).json;
    expect(delivered).toEqual({ id, ...stored });
    expect(stored).toMatchObject({ type: "webhook.test", data: { webhookId } });
    expect(second.received).toEqual([]);
    await patch(`/v1/webhooks/${webhookId}`, { enabled: false });
    expect((await post(`${event}/replay`)).json).toEqual({ replayed: 0 });
  });

  it("that are switched off give up what waits, and get it by a replay", async () => {
    const [project, receiver] = [await world.project(), await ownReceiver()];
    const { get, post, patch } = of(project);
    const { webhookId } = await world.webhook(project, receiver.url);
    receiver.status = 500;
    const { eventId } = (await post(`/v1/webhooks/${webhookId}/test`)).json;
    const deliveries = `/v1/events/${String(eventId)}/deliveries`;
    await eventually(
      () => get(deliveries),
      ({ json }) => json[0]?.lastResult === "500",
    );
    await patch(`/v1/webhooks/${webhookId}`, { enabled: false });
    expect((await get(deliveries)).json).toMatchObject([
      { status: "EXHAUSTED", lastResult: "endpoint switched off" },
    ]);
    receiver.status = 204;
    await patch(`/v1/webhooks/${webhookId}`, { enabled: true });
    await post(`/v1/events/${String(eventId)}/replay`);
    await eventually(
      () => get(deliveries),
      ({ json }) => json[0].status === "DELIVERED",
    );
  });

  it("keep a private address that the operator allowed, until they get another one", async () => {
    const [project, receiver] = [await world.project(), await ownReceiver()];
    const { get, patch } = of(project);
    const { webhookId } = await world.webhook(project, receiver.url);
    const path = `/v1/webhooks/${webhookId}`;
    expect((await patch(path, { concurrency: 2 })).json).not.toHaveProperty("undeliverable");
    await patch(path, { url: "https://shop.example/" });
    made(await setWebhook(world.database, project.id, { webhookId, url: receiver.url, allowPrivate: true }));
    expect((await get(path)).json).toMatchObject({ url: receiver.url, concurrency: 2 });
  });

  it("and events of another project do not exist", async () => {
    const [project, other] = [await world.project(), await world.project()];
    const { webhookId } = await world.webhook(project, "https://shop.example/");
    const { eventId } = (await of(project).post(`/v1/webhooks/${webhookId}/test`)).json;
    const { get, post, patch, remove } = of(other);
    const [webhook, event] = [`/v1/webhooks/${webhookId}`, `/v1/events/${String(eventId)}`];
    expectRefused(
      [
        await get(webhook),
        await patch(webhook, { enabled: false }),
        await remove(webhook),
        await post(`${webhook}/test`),
        await get(event),
        await get(`${event}/deliveries`),
        await post(`${event}/replay`),
      ],
      404,
      "NOT_FOUND",
    );
    expect((await get("/v1/webhooks")).json).toEqual([]);
  });
});
