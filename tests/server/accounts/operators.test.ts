/** What operators do over HTTP with organizations, keys and plans. */
import { describe, expect, it } from "vitest";
import { queryAt } from "../../support/database.js";
import { OTHER_OPERATOR, ownOperated, PLANS, SOON } from "./operated.js";

const { call, database, made, rowsOf } = await ownOperated();

const audit = (organization: string) =>
  queryAt(
    database,
    "SELECT actor, action, key, plan, subject FROM routewright_keys.audit WHERE organization = $1 ORDER BY id",
    [organization],
  );

describe("an organization", () => {
  it("has a random id that nobody guesses, until an operator sets another, which its keys follow", async () => {
    const { id, ...rest } = await made("/organizations", { name: "Acme Inc.", plan: "free" });
    expect(id).toMatch(/^org_[0-9a-f]{24}$/);
    expect(rest).toMatchObject({ name: "Acme Inc.", plan: "free", keys: 0, members: 0 });
    const { key } = await made("/keys", { user: "ann", tier: "tier2", organization: id });
    await expect.poll(async () => (await rowsOf(key as string)).text, SOON).toBe("[]");
    const changed = await call("PATCH", `/organizations/${String(id)}`, { id: "acme" });
    expect(changed.json).toMatchObject({ id: "acme", name: "Acme Inc.", plan: "free", keys: 1 });
    await expect.poll(async () => (await rowsOf(key as string)).text, SOON).toBe('[{"org":"acme","n":1}]');
    expect((await call("GET", `/organizations/${String(id)}`)).status).toBe(404);
    expect((await audit("acme")).map(({ action, subject }) => [action, subject])).toEqual([
      ["organization", null],
      ["created", null],
      ["renamed", id],
    ]);
  });

  it("has an id of its own, never *", async () => {
    await made("/organizations", { id: "taken" });
    const { id } = await made("/organizations", {});
    const taken = "Parameter 'id' must be an id that no other organization has.";
    for (const reply of [
      await call("POST", "/organizations", { id: "taken" }),
      await call("PATCH", `/organizations/${String(id)}`, { id: "taken", name: "changed", plan: "pro" }),
    ])
      expect([reply.status, reply.json["detail"]]).toEqual([400, taken]);
    expect((await call("GET", `/organizations/${String(id)}`)).json).toMatchObject({ name: "", plan: null });
    for (const bad of ["*", "", "a\nb", "x".repeat(201), "a\0b", "\ud800"])
      for (const reply of [
        await call("POST", "/organizations", { id: bad }),
        await call("PATCH", `/organizations/${String(id)}`, { id: bad }),
      ])
        expect([bad, reply.status]).toEqual([bad, 400]);
    expect((await call("PATCH", "/organizations/none", { plan: "pro" })).status).toBe(404);
    expect((await call("GET", "/organizations/%00")).status).toBe(404);
  });

  it("gets another plan, which counts at once", async () => {
    const { id } = await made("/organizations", { plan: "free" });
    const { key } = await made("/keys", { user: "ben", tier: "tier2", organization: id });
    const limit = async () => (await rowsOf(key as string)).headers["x-ratelimit-limit"];
    await expect.poll(limit, SOON).toBe("70");
    expect((await call("PATCH", `/organizations/${String(id)}`, { plan: "pro" })).status).toBe(200);
    await expect.poll(limit, SOON).toBe("1000");
    const unknown = await call("PATCH", `/organizations/${String(id)}`, { plan: "por" });
    expect([unknown.status, unknown.json["detail"]]).toEqual([
      400,
      "Parameter 'plan' must be one of: free, pro.",
    ]);
    expect((await audit(String(id))).filter(({ action }) => action === "plan")).toEqual([
      {
        actor: expect.stringMatching(/^key:[0-9a-f]{12}$/) as string,
        action: "plan",
        key: null,
        plan: "pro",
        subject: null,
      },
    ]);
  });

  it("gets figures of its own, which count at once, and those of its plan again", async () => {
    const { id } = await made("/organizations", { plan: "free" });
    const { key } = await made("/keys", { user: "dan", tier: "tier2", organization: id });
    const path = `/organizations/${String(id)}`;
    const limit = async () => (await rowsOf(key as string)).headers["x-ratelimit-limit"];
    await expect.poll(limit, SOON).toBe("70");
    const own = { requestsPerMinute: 333, requests: null, rows: 5000, bytes: null, keys: 1, members: null };
    await call("PATCH", path, { own: { requestsPerMinute: 333, rows: 5000 } });
    expect((await call("PATCH", path, { own: { keys: 1 } })).json["own"]).toEqual(own);
    await expect.poll(limit, SOON).toBe("333");
    expect((await call("GET", path)).json["own"]).toEqual(own);
    const second = await call("POST", "/keys", { user: "eva", tier: "tier2", organization: id });
    expect(second.status).toBe(400);
    expect((await call("PATCH", path, { own: { requestsPerMinute: null } })).json["own"]).toEqual({
      ...own,
      requestsPerMinute: null,
    });
    await expect.poll(limit, SOON).toBe("70");
    for (const bad of [{}, { keys: 0 }, { keys: 1.5 }, { rows: 1e16 }, { seats: 1 }, { bytes: "5" }, null])
      expect([bad, (await call("PATCH", path, { own: bad })).status]).toEqual([bad, 400]);
    expect((await audit(String(id))).filter(({ action }) => action === "figures")).toHaveLength(3);
  });

  it("keeps a plan while people belong to it", async () => {
    const { id } = await made("/organizations", { plan: "free" });
    await queryAt(
      database,
      `INSERT INTO routewright_keys.people (id, issuer, subject, name) VALUES ('p1', 'i', 's', 'Ann')`,
    );
    await queryAt(
      database,
      "INSERT INTO routewright_keys.members (organization, person, role) VALUES ($1, 'p1', 'owner')",
      [id],
    );
    const refused = await call("PATCH", `/organizations/${String(id)}`, { plan: null });
    expect([refused.status, (await call("GET", `/organizations/${String(id)}`)).json["plan"]]).toEqual([
      400,
      "free",
    ]);
  });
});

describe("a key", () => {
  it("is made, listed, rotated and revoked, and shown once", async () => {
    const limits = { expires: "2099-12-31", allowed: ["shop"] };
    const first = await made("/keys", { user: "cat", tier: "tier1", organization: "globex", ...limits });
    await expect
      .poll(async () => (await rowsOf(first["key"] as string)).text, SOON)
      .toBe('[{"org":"globex","n":2}]');
    const listed = await call("GET", "/keys?organization=globex");
    expect(listed.json["keys"]).toEqual([
      {
        ...{ id: first["id"], user: "cat", tier: "tier1", organization: "globex", allowed: ["shop"] },
        ...{ created: expect.any(String) as string, expires: "2100-01-01T00:00:00Z" },
      },
    ]);
    expect(listed.text).not.toContain(first["key"]);
    const second = await made(`/keys/${String(first["id"])}/rotate`, { keep_seconds: 0 });
    expect(second).toMatchObject({
      replaced: first["id"],
      key: expect.stringMatching(/^sk_live_rw_/) as string,
    });
    await expect.poll(async () => (await rowsOf(first["key"] as string)).status, SOON).toBe(403);
    await expect.poll(async () => (await rowsOf(second["key"] as string)).status, SOON).toBe(200);
    const revoked = await call("DELETE", `/keys/${String(second["id"])}`);
    expect(revoked.json).toEqual({ revoked: second["id"] });
    await expect.poll(async () => (await rowsOf(second["key"] as string)).status, SOON).toBe(403);
    const expired = await call("POST", `/keys/${String(first["id"])}/rotate`);
    expect([expired.status, expired.json["detail"]]).toEqual([
      400,
      "Parameter 'id' must be the id of a key that has neither expired nor been replaced.",
    ]);
    expect((await audit("globex")).map(({ action, key }) => [action, key])).toEqual([
      ["created", first["id"]],
      ["rotated", first["id"]],
      ["revoked", second["id"]],
    ]);
  });

  it.each([
    [{ user: "a" }, "Parameter 'tier' is required."],
    [{ user: "a", tier: "tier4" }, "Parameter 'tier' must be one of: tier0, tier1, tier2, tier3."],
    [
      { user: "a", tier: "tier1", organization: "*" },
      "Parameter 'organization' must be another than '*' below tier3.",
    ],
    [{ user: "a", tier: "tier1", role: "owner" }, "Unsupported body fields: role"],
    [
      { user: "a", tier: "tier1", expires: "soon" },
      "Parameter 'expires' must be a date such as 2027-01-31, or an RFC 3339 date-time.",
    ],
    [
      { user: "a", tier: "tier1", allowed: ["a b"] },
      "Parameter 'allowed' must be a list of categories and paths, such as shop or /v1/shop/orders.",
    ],
    [["a"], "Request body must be a JSON object."],
  ])("is not made of %j", async (body, detail) => {
    const { status, json } = await call("POST", "/keys", body);
    expect([status, json["detail"]]).toEqual([400, detail]);
  });

  it("is changed by its whole id only", async () => {
    const { id } = await made("/keys", { user: "dan", tier: "tier1" });
    for (const part of [String(id).slice(0, 11), "%25", "", "zzz", "000000000000"]) {
      expect((await call("DELETE", `/keys/${part}`)).status).toBe(404);
      expect((await call("POST", `/keys/${part}/rotate`)).status).toBe(404);
    }
    expect((await call("DELETE", `/keys/${String(id)}`)).status).toBe(200);
  });
});

describe("lists", () => {
  it("come in pages of bounded length that have everything once", async () => {
    for (let i = 0; i < 5; i++)
      await made("/keys", { user: `u${String(i)}`, tier: "tier0", organization: "paged" });
    const seen: string[] = [];
    let after = "";
    do {
      const { json } = await call("GET", `/keys?organization=paged&limit=2${after}`);
      seen.push(...(json["keys"] as { user: string }[]).map(({ user }) => user));
      after = json["next"] === null ? "" : `&after=${String(json["next"])}`;
    } while (after !== "");
    expect(seen.sort()).toEqual(["u0", "u1", "u2", "u3", "u4"]);
    const first = await call("GET", "/organizations?limit=1");
    expect(first.json["organizations"]).toHaveLength(1);
    const next = await call(
      "GET",
      `/organizations?limit=100&after=${encodeURIComponent(String(first.json["next"]))}`,
    );
    expect(next.json["organizations"]).not.toContainEqual(first.json["organizations"][0]);
    const changes = await call("GET", "/audit?organization=paged&limit=2");
    expect(changes.json["changes"]).toHaveLength(2);
    const older = await call("GET", `/audit?organization=paged&before=${String(changes.json["next"])}`);
    expect(older.json["changes"]).toHaveLength(3);
    expect((await call("GET", "/organizations?limit=101")).status).toBe(400);
    expect((await call("GET", "/organizations?page=2")).json["detail"]).toBe(
      "Unsupported query parameters: page",
    );
    expect((await call("GET", "/plans")).json["plans"]).toEqual([
      { name: "free", ...PLANS["free"] },
      { name: "pro", ...PLANS["pro"] },
    ]);
  });
});

describe("an Idempotency-Key", () => {
  it("makes one key of a request that is sent again, also at the same time, and shows it once", async () => {
    const body = { user: "eve", tier: "tier1", organization: "once" };
    const send = () => call("POST", "/keys", body, { idempotency: "order-1" });
    const replies = [...(await Promise.all([send(), send(), send()])), await send()];
    expect(new Set(replies.map(({ json }) => json["id"] as string)).size).toBe(1);
    expect(replies.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    expect(replies.filter(({ json }) => json["key"] !== null)).toHaveLength(1);
    expect(replies.filter(({ headers }) => headers["idempotent-replayed"] === "true")).toHaveLength(3);
    const stored = await queryAt(database, "SELECT body FROM routewright_keys.idempotency");
    expect(JSON.stringify(stored)).not.toContain("sk_live_");
  });

  it("is refused for another request, and is another's own", async () => {
    const idempotency = "order-2";
    const first = await call("POST", "/organizations", { name: "one" }, { idempotency });
    const other = await call("POST", "/organizations", { name: "two" }, { idempotency });
    expect([other.status, other.json["detail"]]).toEqual([
      400,
      "Parameter 'Idempotency-Key' must be a text that no other request of the last day had.",
    ]);
    const foreign = await call(
      "POST",
      "/organizations",
      { name: "one" },
      { idempotency, key: OTHER_OPERATOR },
    );
    expect(foreign.json["id"]).not.toBe(first.json["id"]);
    for (const bad of [" ", "x".repeat(257)])
      expect((await call("POST", "/organizations", {}, { idempotency: bad })).status).toBe(400);
  });

  it("stores no refusal: the request may be sent again once it can succeed", async () => {
    const idempotency = "order-3";
    const change = () => call("PATCH", "/organizations/late", { plan: "pro" }, { idempotency });
    expect((await change()).status).toBe(404);
    await made("/organizations", { id: "late" });
    expect((await change()).json["plan"]).toBe("pro");
    await call("PATCH", "/organizations/late", { plan: "free" });
    expect((await change()).json["plan"]).toBe("pro");
    expect((await call("GET", "/organizations/late")).json["plan"]).toBe("free");
  });
});
