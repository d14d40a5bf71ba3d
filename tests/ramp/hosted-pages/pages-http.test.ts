import { describe, expect, it } from "vitest";
import { pageUrl } from "../../../runtime/ramp/hosted-pages/link.js";
import { newCustomer, north, ownWorld, type Reply, untilTrue } from "../support/world.js";

const world = await ownWorld();
const project = await world.project();

interface Made {
  readonly id: string;
  readonly auth: string;
  /** The page's path. */
  readonly path: string;
}

async function create(more: Readonly<Record<string, unknown>> = {}): Promise<Made> {
  const auth = await newCustomer(world, project);
  const { json } = await world.call("POST", "/v1/intent", { auth, body: north(more) });
  return { id: json.intent.id, auth, path: new URL(json.onboardingUrl).pathname };
}

const FILLED = {
  action: "submit",
  requirement: "KYC_VERIFICATION",
  "field.fullName": "Ada Lovelace",
  "field.dateOfBirth": "1990-12-31",
  "field.decision": "approve",
};

function post(path: string, fields: Readonly<Record<string, string>>): Promise<Reply> {
  return world.call("POST", path, {
    text: new URLSearchParams(fields).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded" },
  });
}

async function requirementStatus({ id }: Made): Promise<unknown> {
  const [row] = await world.rows("SELECT status FROM ramp.requirements WHERE intent_id = $1", [id]);
  return row?.["status"];
}

/** Waits for the page that follows the identity check. */
async function checked({ path }: Made): Promise<void> {
  await untilTrue(async () => !(await world.call("GET", path)).text.includes("Checking your details"));
}

describe("a page's link", () => {
  it("is refused with a page once it has expired", async () => {
    const { id } = await create();
    const url = pageUrl(world.url, world.vault, { projectId: project.id, id });
    // The link outlives the intent by a day.
    await world.rows(
      "UPDATE ramp.intents SET expires_at = now() - interval '24 hours 1 second' WHERE id = $1",
      [id],
    );
    for (const method of ["GET", "POST"] as const) {
      const answer = await world.call(method, new URL(url).pathname);
      expect(answer.status).toBe(410);
      expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
      expect(answer.text).toContain("This link has expired");
    }
    expect((await world.call("GET", `${new URL(url).pathname}/status`)).status).toBe(410);
  });

  it("is refused when it was changed, cut off or made up", async () => {
    const { path } = await create();
    const [payload = "", signature = ""] = path.replace("/onboarding/", "").split(".");
    const claims = Buffer.from(payload, "base64url").toString();
    const other = Buffer.from(claims.replace(/.$/, (last) => (last === "0" ? "1" : "0"))).toString(
      "base64url",
    );
    const bad = [
      `/onboarding/${other}.${signature}`,
      `/onboarding/${payload}`,
      `/onboarding/${payload}.`,
      `/onboarding/${payload}.${signature.slice(1)}`,
      `/onboarding/${payload}.${signature}.x`,
      "/onboarding/x.y",
    ];
    for (const wrong of bad) {
      const answer = await world.call("GET", wrong);
      expect([wrong, answer.status]).toEqual([wrong, 404]);
      expect(answer.text).toContain("This link is not valid");
      expect((await world.call("GET", `${wrong}/status`)).status).toBe(404);
    }
  });

  it("answers with headers that keep it to itself", async () => {
    const { path } = await create();
    const { headers } = await world.call("GET", path);
    expect(headers.get("content-security-policy")).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    );
    expect(headers.get("x-frame-options")).toBe("DENY");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("access-control-allow-origin")).toBeNull();
  });

  it("names no origin in its policy that could change the policy", async () => {
    const { path } = await create();
    const set = "UPDATE ramp.projects SET page_origins = $2 WHERE id = $1";
    const origins = ["https://app.example.com", "https://a.example.com;script-src", "*", "javascript:x"];
    await world.rows(set, [project.id, origins]);
    const { headers } = await world.call("GET", path);
    await world.rows(set, [project.id, []]);
    expect(headers.get("content-security-policy")).toMatch(/frame-ancestors https:\/\/app\.example\.com$/);
    expect(headers.get("x-frame-options")).toBeNull();
  });

  it("gives the status in JSON, and another version once the page would look different", async () => {
    const made = await create();
    const before = await world.call("GET", `${made.path}/status`);
    expect(before.json).toEqual({
      status: "COMPLIANCE_IN_PROGRESS",
      version: expect.stringMatching(/^[\w-]{16}$/),
    });
    await post(made.path, FILLED);
    const after = await world.call("GET", `${made.path}/status`);
    expect(after.json.version).not.toBe(before.json.version);
  });
});

describe("the page of a payment", () => {
  const ending = (text: string): unknown => {
    const data = /data-end="([^"]+)"/.exec(text)?.[1] ?? "null";
    return JSON.parse(data.replace(/&#(\d+);/g, (_all, code: string) => String.fromCharCode(Number(code))));
  };

  const shows = async (path: string, title: string): Promise<string> => {
    await untilTrue(async () => (await world.call("GET", path)).text.includes(title));
    return (await world.call("GET", path)).text;
  };

  async function checkout(made: Made): Promise<string> {
    await post(made.path, FILLED);
    return made.path;
  }

  it("shows a transfer that came back, and why", async () => {
    await world.sandbox.set({ execution: "fail" });
    const made = await create({ autoExecute: true, checkoutRedirectUrl: "https://shop.example.com/paid" });
    const path = await checkout(made);
    const text = await shows(path, "Payment failed");
    await world.sandbox.set({ execution: "settle" });
    expect(text).toContain("Sandbox North says: The transfer was returned.");
    expect(ending(text)).toEqual({
      message: { type: "INTENT_DISMISSED", payload: { intentId: made.id, status: "TRANSACTION_FAILED" } },
      origins: ["https://shop.example.com"],
      url: `https://shop.example.com/paid?intentId=${made.id}&status=TRANSACTION_FAILED`,
    });
  });

  it("leads back to the caller's address as it was given: a signed query keeps its text", async () => {
    const given = "https://shop.example.com/a~b/paid?sig=a%20b~c*'%7e&status=old&empty&x=1+2#part?y";
    const made = await create({ onboardingRedirectUrl: given });
    const { text } = await world.call("GET", `${made.path}?leave`);
    const url = `https://shop.example.com/a~b/paid?sig=a%20b~c*'%7e&empty&x=1+2&intentId=${made.id}&status=COMPLIANCE_IN_PROGRESS#part?y`;
    expect(ending(text)).toMatchObject({ origins: ["https://shop.example.com"], url });
  });

  it("shows that the intent has expired, and outlives it", async () => {
    await world.sandbox.set({ execution: "stall" });
    const made = await create({ autoExecute: true });
    const path = await checkout(made);
    const title = "Payment expired";
    await untilTrue(async () => {
      // Again: the order may begin meanwhile, and its provider awaits the payment for longer.
      await world.rows("UPDATE ramp.intents SET expires_at = now(), next_poll_at = now() WHERE id = $1", [
        made.id,
      ]);
      return (await world.call("GET", path)).text.includes(title);
    });
    const text = await shows(path, title);
    await world.sandbox.set({ execution: "settle" });
    expect(ending(text)).toMatchObject({ message: { type: "INTENT_DISMISSED" }, origins: [], url: null });
  });
});

describe("a page's form", () => {
  it("is taken, and leads back to the page", async () => {
    const made = await create();
    const answer = await post(made.path, FILLED);
    expect(answer.status).toBe(303);
    expect(new URL(answer.headers.get("location") ?? "", world.url + made.path).pathname).toBe(made.path);
    expect(await requirementStatus(made)).not.toBe("PENDING");
  });

  it("is not shown again after it was taken, also while another process looks the intent up", async () => {
    await world.sandbox.set({ settleMs: 600_000 });
    const made = await create();
    await world.rows(
      "UPDATE ramp.intents SET lease_owner = gen_random_uuid(), lease_expires_at = now() + interval '1 hour', next_poll_at = now() + interval '1 hour' WHERE id = $1",
      [made.id],
    );
    await post(made.path, FILLED);
    await world.sandbox.set({ settleMs: 1_500 });
    expect((await world.call("GET", made.path)).text).toContain("Checking your details");
  });

  it("is refused as a page when it is of another kind, not UTF-8, too large, or sent with another method", async () => {
    const { path } = await create();
    const statuses = await Promise.all([
      world.call("POST", path, { body: FILLED }),
      fetch(world.url + path, { method: "POST", body: Buffer.from([0xff, 0xfe]) }),
      post(path, { long: "x".repeat(1_100_000) }),
      world.call("PUT", path),
    ]);
    expect(statuses.map(({ status }) => status)).toEqual([415, 400, 413, 405]);
    for (const { headers } of statuses) expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
  });

  it("names what does not fit the provider's schema, and hands nothing in", async () => {
    const made = await create();
    const changes = [
      { "field.fullName": "x".repeat(141) },
      { "field.dateOfBirth": "31.12.1990" },
      { "field.decision": "bribe" },
      { "field.fullName": "a\0b" },
    ];
    for (const change of changes) {
      const { status, text } = await post(made.path, { ...FILLED, ...change });
      expect(status).toBe(422);
      expect(text).toContain('role="alert"');
    }
    expect(await requirementStatus(made)).toBe("PENDING");
  });

  it("fetches the price of an intent that has none, and says when its provider gives none", async () => {
    await world.sandbox.set({ execution: "stall" });
    const made = await create({ srcAmount: "44.03" });
    await post(made.path, FILLED);
    await checked(made);
    const shown = await world.call("GET", made.path);
    expect(shown.text).toContain("Sandbox North gives the price when you continue");
    const refused = await post(made.path, { action: "execute" });
    expect([refused.status, refused.headers.get("content-type")]).toEqual([503, "text/html; charset=utf-8"]);
    expect(refused.text).toContain("Sandbox North cannot be reached right now");
    const api = await world.call("POST", `/v1/intent/${made.id}/transaction`, { auth: made.auth, body: {} });
    expect(api.json.error).toBe("PROVIDER_UNAVAILABLE");
    // The provider quotes again.
    await world.rows("UPDATE ramp.intents SET src_amount = 44.00 WHERE id = $1", [made.id]);
    expect((await post(made.path, { action: "execute" })).status).toBe(303);
    const { json } = await world.call("GET", `/v1/intent/${made.id}`, { auth: made.auth });
    expect(json.transaction).toBeDefined();
    const [row] = await world.rows("SELECT price FROM ramp.intents WHERE id = $1", [made.id]);
    expect(row?.["price"]).toMatchObject({ destAmount: expect.any(String) });
    await world.sandbox.set({ execution: "settle" });
  });

  it("opens one transaction however often it is sent", async () => {
    const made = await create();
    await world.sandbox.set({ execution: "stall" });
    await post(made.path, FILLED);
    await checked(made);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => post(made.path, { action: "execute" })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 303));
    const [row] = await world.rows("SELECT id FROM ramp.transactions WHERE intent_id = $1", [made.id]);
    const executed = await world.sandbox.executed();
    expect(executed.filter((id) => id === row?.["id"])).toHaveLength(1);
    await world.sandbox.set({ execution: "settle" });
  });

  // The last one: the provider is left alone for a while after so many failures.
  it("keeps what was typed when the provider cannot be reached, and is taken later", async () => {
    const made = await create();
    await world.sandbox.set({ failNext: 1_000_000 });
    const { status, text } = await post(made.path, FILLED);
    expect(status).toBe(503);
    expect(text).toContain("Sandbox North cannot be reached right now");
    expect(text).toContain('value="Ada Lovelace"');
    await world.sandbox.set({ failNext: 0 });
    await untilTrue(async () => (await post(made.path, FILLED)).status === 303);
    expect(await requirementStatus(made)).not.toBe("PENDING");
  });
});
