/** Attacks on invitations, roles, the choice of an organization and the display of keys, over HTTP. */
import { describe, expect, it } from "vitest";
import { sendRequest } from "../../support/http-client.js";
import { accountWorld, Browser, keyIn, linkIn, OPEN } from "./account-world.js";

const SOON = { timeout: 90_000, interval: 200 };
const world = await accountWorld();
let people = 0;

/** Somebody who is signed in, and their organization. */
async function somebody() {
  const login = `o${String(++people)}@example.com`;
  const browser = world.browser();
  await browser.signIn(login);
  const organization = browser.fields("keys")["organization"] ?? "";
  const [row] = await world.sql("SELECT id FROM routewright_keys.people WHERE subject = $1", [login]);
  return { login, browser, organization, person: String(row?.["id"]) };
}

type Somebody = Awaited<ReturnType<typeof somebody>>;

const invite = async ({ browser }: Somebody, role = "member"): Promise<string> => {
  await browser.get("/account");
  return new URL(linkIn(await browser.submit("invitations", { role }))).searchParams.get("code") ?? "";
};

async function accept({ browser }: Somebody, code: string, more: Readonly<Record<string, string>> = {}) {
  await browser.get("/account");
  return browser.post("/account/invitation", { ...browser.fields("sign-out"), code, ...more });
}

/** Two people of one organization. */
async function pair() {
  const [owner, member] = [await somebody(), await somebody()];
  await accept(member, await invite(owner));
  await member.browser.get("/account");
  return { owner, member };
}

const membersOf = (organization: string) =>
  world.sql(
    "SELECT person, role FROM routewright_keys.members WHERE organization = $1 ORDER BY since, person",
    [organization],
  );

/** A form of this session about any organization. */
const send = ({ browser }: Somebody, action: string, fields: Readonly<Record<string, string>>) =>
  browser.post(`/account/${action}`, { form: browser.formToken, once: "once-and-no-more", ...fields });

describe("an invitation", () => {
  it("works once, also for two at the same time", async () => {
    const [owner, ...guests] = [await somebody(), await somebody(), await somebody(), await somebody()];
    const code = await invite(owner);
    const pages = await Promise.all(guests.map((guest) => accept(guest, code)));
    expect(pages.map(({ status }) => status).sort()).toEqual([200, 404, 404]);
    expect(await membersOf(owner.organization)).toHaveLength(2);
  });

  it.each([
    [
      "has expired",
      () => world.sql("UPDATE routewright_keys.invitations SET expires_at = now() - interval '1 s'"),
    ],
    [
      "was withdrawn",
      async ({ browser }: Somebody) => (
        await browser.get("/account"),
        browser.submit("invitations/withdraw")
      ),
    ],
  ])("that %s opens nothing", async (_, end) => {
    const [owner, guest] = [await somebody(), await somebody()];
    const code = await invite(owner);
    await end(owner);
    expect((await accept(guest, code)).status).toBe(404);
    expect(await membersOf(owner.organization)).toHaveLength(1);
  });

  it("gives the role that its owner chose, whatever the form says", async () => {
    const [owner, guest] = [await somebody(), await somebody()];
    await accept(guest, await invite(owner), { role: "owner", organization: "acme" });
    expect((await membersOf(owner.organization)).map(({ role }) => role)).toEqual(["owner", "member"]);
    expect(await membersOf("acme")).toEqual([]);
  });

  it("is accepted by a form, not by opening its link", async () => {
    const [owner, guest] = [await somebody(), await somebody()];
    const code = await invite(owner);
    await guest.browser.get(`/account/invitation?code=${code}`);
    expect(await membersOf(owner.organization)).toHaveLength(1);
  });

  it("is not found by guessing: an unknown, a used and a malformed code look alike, and attempts are limited", async () => {
    const { owner } = await pair();
    const code = await invite(owner);
    const guest = await somebody();
    await accept(guest, code);
    const texts = new Set<string>();
    for (const guess of [code, "A".repeat(43), "x", "' OR 1=1 --", ""]) {
      const { status, text } = await world
        .browser()
        .get(`/account/invitation?code=${encodeURIComponent(guess)}`);
      expect(status).toBe(404);
      texts.add(text);
    }
    expect(texts.size).toBe(1);
    const attacker = world.browser();
    const statuses: number[] = [];
    for (let i = 0; i < 21; i++)
      statuses.push((await attacker.get(`/account/invitation?code=${"B".repeat(43)}`)).status);
    expect(statuses.at(-1)).toBe(429);
  });

  it("is stored as a digest alone", async () => {
    const owner = await somebody();
    const code = await invite(owner);
    const rows = await world.sql("SELECT json_agg(i)::text AS all FROM routewright_keys.invitations i");
    expect(String(rows[0]?.["all"])).not.toContain(code);
  });
});

describe("a member", () => {
  it.each([
    ["invites nobody", "invitations", { role: "owner" }],
    ["names nothing", "name", { name: "Mine" }],
    ["raises nobody", "members/role", { role: "owner" }],
    ["removes nobody", "members/remove", {}],
    ["withdraws nothing", "invitations/withdraw", { id: "x" }],
  ])("%s", async (_, action, fields) => {
    const { owner, member } = await pair();
    const before = await membersOf(owner.organization);
    const person = action === "members/role" ? member.person : owner.person;
    const page = await send(member, action, { organization: owner.organization, person, ...fields });
    expect(page.status).toBe(403);
    expect(await membersOf(owner.organization)).toEqual(before);
  });

  it("who was removed does nothing more, with the page still open", async () => {
    const { owner, member } = await pair();
    await member.browser.get(`/account?organization=${owner.organization}`);
    await send(owner, "members/remove", { organization: owner.organization, person: member.person });
    const page = await member.browser.submit("keys", { organization: owner.organization });
    expect([page.status, keyIn(page)]).toEqual([404, ""]);
  });
});

describe("the last owner", () => {
  it("neither leaves nor becomes a member, also not with a second request at the same time", async () => {
    const { owner, member } = await pair();
    const { organization } = owner;
    expect(
      (await send(owner, "members/role", { organization, person: owner.person, role: "member" })).status,
    ).toBe(409);
    expect((await send(owner, "members/remove", { organization, person: owner.person })).status).toBe(409);
    expect((await send(owner, "delete", { sure: "yes" })).status).toBe(409);
    await owner.browser.get("/account");
    await send(owner, "members/role", { organization, person: member.person, role: "owner" });
    await owner.browser.get("/account");
    await member.browser.get("/account");
    const pages = await Promise.all([
      send(owner, "members/role", { organization, person: owner.person, role: "member" }),
      send(member, "members/role", { organization, person: member.person, role: "member" }),
    ]);
    expect(pages.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect((await membersOf(organization)).map(({ role }) => role).sort()).toEqual(["member", "owner"]);
  });
});

describe("another organization", () => {
  it.each(["keys", "keys/rotate", "keys/revoke", "invitations", "members/role", "members/remove", "name"])(
    "is not chosen by the form %s, and looks like an unknown one",
    async (action) => {
      const [victim, attacker] = [await somebody(), await somebody()];
      await victim.browser.submit("keys");
      const [row] = await world.sql("SELECT id FROM routewright_keys.keys WHERE organization = $1", [
        victim.organization,
      ]);
      const fields = { name: "x", role: "owner", person: victim.person, id: String(row?.["id"]) };
      await attacker.browser.get("/account");
      const page = await send(attacker, action, { ...fields, organization: victim.organization });
      await attacker.browser.get("/account");
      const none = await send(attacker, action, { ...fields, organization: "org_none" });
      expect([page.status, none.status, page.text === none.text]).toEqual([404, 404, true]);
      const [key] = await world.sql(
        "SELECT user_name, revoked_at, expires_at FROM routewright_keys.keys WHERE organization = $1",
        [victim.organization],
      );
      expect(key).toEqual({ user_name: "First key", revoked_at: null, expires_at: null });
    },
  );

  it.each(["keys/rotate", "keys/revoke"])(
    "loses no key by its id in the form %s of one's own",
    async (action) => {
      const [victim, attacker] = [await somebody(), await somebody()];
      await victim.browser.submit("keys");
      const [row] = await world.sql("SELECT id FROM routewright_keys.keys WHERE organization = $1", [
        victim.organization,
      ]);
      const page = await send(attacker, action, {
        organization: attacker.organization,
        id: String(row?.["id"]),
      });
      expect([page.status, keyIn(page)]).toEqual([404, ""]);
    },
  );

  it("is not read: its page, its usage", async () => {
    const [victim, attacker] = [await somebody(), await somebody()];
    for (const path of ["/account?", "/account/usage.csv?"])
      for (const organization of [victim.organization, "org_none", "*", "%00"]) {
        const { status, text } = await attacker.browser.get(`${path}organization=${organization}`);
        expect([status, text.includes(victim.organization)]).toEqual([404, false]);
      }
  });

  it("is not what a key gets whose form has more fields, nor a higher tier, nor the paths of operators", async () => {
    const { browser, organization } = await somebody();
    const more = { org: "*", tier: "tier3", user: "root", organization, allowed: "system", all: "true" };
    const key = keyIn(await browser.submit("keys", more));
    const [row] = await world.sql(
      "SELECT organization, all_organizations, tier FROM routewright_keys.keys WHERE organization = $1",
      [organization],
    );
    expect(row).toEqual({ organization, all_organizations: false, tier: "tier2" });
    await expect
      .poll(async () => (await sendRequest(world.url, "/v1/system/keys", { key })).text, SOON)
      .toContain("requires tier3 access");
  });

  it("is named by its operator: a person cannot set an id", async () => {
    const { browser, organization } = await somebody();
    await browser.submit("name", { id: "acme", to: "acme", name: "acme", organization });
    expect(await world.sql("SELECT FROM routewright_keys.organizations WHERE id = 'acme'")).toEqual([]);
    await world.operate(`/organizations/${organization}`, { id: "acme" }, "PATCH");
    expect((await browser.get("/account?organization=acme")).status).toBe(200);
    expect(browser.page.text).toContain("The operator gave the organization another id");
  });
});

describe("a key", () => {
  it("is replaced once, and not without end", async () => {
    const { browser, organization } = await somebody();
    await browser.submit("keys");
    await browser.get("/account");
    const first = browser.fields("keys/rotate");
    expect((await browser.submit("keys/rotate")).status).toBe(200);
    await browser.get("/account");
    const again = await browser.post("/account/keys/rotate", {
      ...browser.fields("keys/rotate"),
      id: first["id"] ?? "",
    });
    expect([again.status, keyIn(again)]).toEqual([404, ""]);
    await world.sql(
      `INSERT INTO routewright_keys.keys (digest, organization, user_name, tier, expires_at)
        SELECT encode(sha256(($1 || n)::bytea), 'hex'), $1, 'old', 'tier2', now() FROM generate_series(1, 200) n`,
      [organization],
    );
    const [last] = await world.sql(
      "SELECT id FROM routewright_keys.keys WHERE organization = $1 AND replaces IS NOT NULL",
      [organization],
    );
    await browser.get("/account");
    const one = { ...browser.fields("keys/rotate"), id: String(last?.["id"]) };
    const refused = await browser.post("/account/keys/rotate", one);
    expect(refused.status).toBe(409);
    expect(refused.text).toContain("at most 200 keys, with those that were replaced or have ended");
  });

  it("is shown once: reloading the page makes and shows none", async () => {
    const { browser } = await somebody();
    const fields = browser.fields("keys");
    const first = await browser.post("/account/keys", fields);
    expect([first.headers["cache-control"], keyIn(first)]).toEqual([
      "no-store",
      expect.stringMatching(/^sk_live_rw_/),
    ]);
    const again = await browser.post("/account/keys", fields);
    expect([again.status, keyIn(again)]).toEqual([409, ""]);
    const twins = browser.get("/account").then(() => ({ ...browser.fields("keys"), name: "twin" }));
    const pages = await twins.then((form) =>
      Promise.all([browser.post("/account/keys", form), browser.post("/account/keys", form)]),
    );
    expect(pages.map(({ status }) => status).sort()).toEqual([200, 409]);
  });

  it("is in no table, whatever one looks into", async () => {
    const { browser } = await somebody();
    const key = keyIn(await browser.submit("keys"));
    const tables = await world.sql(
      "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'routewright_keys'",
    );
    for (const { name } of tables) {
      const [row] = await world.sql(
        `SELECT json_agg(t)::text AS all FROM routewright_keys.${String(name)} t`,
      );
      expect(String(row?.["all"])).not.toContain(key.slice(11));
    }
  });

  it("has a bounded number of companions", async () => {
    const { browser, organization } = await somebody();
    await world.sql(
      `INSERT INTO routewright_keys.keys (digest, organization, user_name, tier)
       SELECT encode(sha256(convert_to($1 || i, 'UTF8')), 'hex'), $1, 'k' || i, 'tier1' FROM generate_series(1, 100) AS i`,
      [organization],
    );
    await browser.get("/account");
    const page = await browser.submit("keys", { name: "one more" });
    expect([page.status, page.text]).toEqual([409, expect.stringContaining("at most 100 keys")]);
  });
});

describe("a name", () => {
  it("is escaped, in every place where it is shown (XSS)", async () => {
    const evil = `<img src=x onerror=alert(1)>"'`;
    const browser = world.browser();
    await browser.signIn(`${evil}@example.com`);
    await browser.submit("name", { name: evil });
    await browser.get("/account");
    await browser.submit("keys", { name: evil });
    await browser.get("/account");
    expect(browser.page.text).not.toContain("<img");
    expect(browser.page.text).toContain("&#60;img src=x onerror=alert(1)&#62;&#34;&#39;");
  });

  it.each([
    ["name", { name: "x".repeat(101) }],
    ["keys", { name: "x".repeat(101) }],
    ["keys", { allowed: "a ".repeat(51) }],
    ["invitations", { role: "operator" }],
  ])("and what else a form %s has is bounded: %j", async (action, fields) => {
    const { browser, organization } = await somebody();
    expect((await send({ browser } as Somebody, action, { name: "a", organization, ...fields })).status).toBe(
      400,
    );
  });
});

describe("many strangers", () => {
  it("sign up as fast as the config file says and no faster", async () => {
    const small = await accountWorld({ ...OPEN, perHour: 2 });
    const statuses: number[] = [];
    for (const name of ["a", "b", "c"])
      statuses.push((await new Browser(small.publicUrl).signIn(`${name}@example.com`)).status);
    expect(statuses).toEqual([200, 200, 429]);
    expect((await new Browser(small.publicUrl).signIn("a@example.com")).status).toBe(200);
    expect(await small.sql("SELECT FROM routewright_keys.organizations")).toHaveLength(2);
  });

  it("send no form without end", async () => {
    const { browser, organization } = await somebody();
    const statuses: number[] = [];
    for (let i = 0; i < 62; i++)
      statuses.push((await send({ browser } as Somebody, "name", { organization, name: "n" })).status);
    expect(statuses.at(-1)).toBe(429);
  });
});
