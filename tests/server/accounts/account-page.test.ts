/** What people do on the account page, over HTTP. */
import { createServer, request } from "node:http";
import { describe, expect, it } from "vitest";
import { sendRequest } from "../../support/http-client.js";
import { listen } from "../../support/port.js";
import type { Browser } from "./account-world.js";
import { accountWorld, keyIn, linkIn, OPEN, type World } from "./account-world.js";

const SOON = { timeout: 90_000, interval: 200 };

const rowsOf = (world: World, key: string) => sendRequest(world.url, "/v1/shop/sales", { key });

/** The organization of the page that is open. */
const organizationOf = (browser: Browser): string => browser.fields("keys")["organization"] ?? "";

describe("somebody who signs up", async () => {
  const world = await accountWorld();

  it("gets an organization with a random id on the plan of signUp, and a key that opens what the plan opens", async () => {
    const ann = world.browser();
    const welcome = await ann.get("/account");
    expect([welcome.status, welcome.text]).toEqual([200, expect.stringContaining("Get a key for Shop data")]);
    expect(welcome.text).toContain("https://example.com/terms");
    const first = await ann.signIn("ann@example.com");
    expect([first.status, first.url]).toEqual([200, `${world.url}/account`]);
    expect(organizationOf(ann)).toMatch(/^org_[0-9a-f]{24}$/);
    const made = await ann.submit("keys");
    const key = keyIn(made);
    expect(made.text).toContain(`curl -H &#39;X-API-Key: ${key}&#39; &#39;${world.url}/v1/shop/sales&#39;`);
    await expect.poll(async () => (await rowsOf(world, key)).text, SOON).toBe('[{"n":1}]');
    expect((await sendRequest(world.url, "/v1/people/staff", { key })).status).toBe(403);
    expect((await ann.get("/account")).text).not.toContain(key);
    const [stored] = await world.sql("SELECT organization, user_name, tier FROM routewright_keys.keys");
    expect(stored).toEqual({ organization: organizationOf(ann), user_name: "First key", tier: "tier2" });
  });

  it("sees what is left of its quota, and has as many keys and people as an operator gave it", async () => {
    const eve = world.browser();
    await eve.signIn("eve@example.com");
    const organization = organizationOf(eve);
    expect(eve.page.text).not.toContain("left this month");
    const change = (own: object) => world.operate(`/organizations/${organization}`, { own }, "PATCH");
    await change({ requestsPerMinute: 4321, requests: 2000, bytes: 5_000_000, keys: 2, members: 1 });
    const key = keyIn(await eve.submit("keys"));
    for (const left of ["2,000 of 2,000", "5,000,000 of 5,000,000", "4,321"])
      expect(eve.page.text).toContain(left);
    expect(eve.page.text).not.toContain("Rows left");
    await expect.poll(async () => (await rowsOf(world, key)).status, SOON).toBe(200);
    await expect.poll(async () => (await eve.get("/account")).text, SOON).toMatch(/1,999 of 2,000/);
    expect(keyIn(await eve.submit("keys", { name: "second" }))).not.toBe("");
    await eve.get("/account");
    const third = await eve.submit("keys", { name: "third" });
    expect([third.status, third.text]).toEqual([409, expect.stringContaining("at most 2 keys")]);
    await change({ keys: 3 });
    await eve.get("/account");
    expect(keyIn(await eve.submit("keys", { name: "third" }))).not.toBe("");
    await eve.get("/account");
    const invited = await eve.submit("invitations", { role: "member" });
    expect([invited.status, invited.text]).toEqual([409, expect.stringContaining("at most 1 people")]);
  });

  it("manages keys: names, last days, limits, replacement, revocation", async () => {
    const ben = world.browser();
    await ben.signIn("ben@example.com");
    await ben.submit("keys");
    await ben.get("/account");
    const limited = await ben.submit("keys", {
      name: "Notebook <1>",
      expires: "2099-01-31",
      allowed: "people, /v1/shop/none",
    });
    const key = keyIn(limited);
    expect(limited.text).toContain("Notebook &#60;1&#62;");
    await expect.poll(async () => (await rowsOf(world, key)).text, SOON).toContain("This key may not call");
    await ben.get("/account");
    const replaced = await ben.submit("keys/rotate");
    expect(keyIn(replaced)).not.toBe(key);
    expect(replaced.text).toContain("stays valid until");
    await ben.get("/account");
    const { id = "" } = ben.fields("keys/revoke");
    const revoked = await ben.submit("keys/revoke");
    expect(revoked.text).toContain(`The key ${id} is revoked`);
    await ben.get("/account");
    for (const [fields, why] of [
      [{ name: "" }, "A name has 1 to 100 characters."],
      [{ name: "a", expires: "soon" }, "expires must be a date"],
      [{ name: "a", expires: "2020-01-01" }, "The last day of the key has passed."],
      [{ name: "a", allowed: "/v2/x" }, "allowed must be a list"],
    ] as const) {
      const refused = await ben.submit("keys", fields);
      expect([refused.status, refused.text]).toEqual([400, expect.stringContaining(why)]);
      await ben.get("/account");
    }
  });

  it("has what its keys have used, as a picture, by endpoint and key, and as a file", async () => {
    const own = await accountWorld(OPEN, { USAGE_ENABLED: "true" });
    const cat = own.browser();
    await cat.signIn("cat@example.com");
    const key = keyIn(await cat.submit("keys", { name: "=cmd()" }));
    await expect.poll(async () => (await rowsOf(own, key)).status, SOON).toBe(200);
    await expect.poll(async () => (await cat.get("/account")).text, SOON).toContain("/v1/shop/sales</th>");
    expect(cat.page.text).toMatch(/<title>\d{4}-\d{2}-\d{2}: \d+ requests?<\/title>/);
    const file = await cat.get(`/account/usage.csv?organization=${organizationOf(cat)}`);
    expect(file.headers["content-type"]).toBe("text/csv; charset=utf-8");
    expect(file.text).toMatch(
      /^day,endpoint,key,name,requests,refused,errors,rows,bytes\r\n\d{4}-\d{2}-\d{2},\/v1\/shop\/sales,[0-9a-f]{12},'=cmd\(\),1,0,0,1,/,
    );
  });
});

describe("people of an organization", async () => {
  const world = await accountWorld();

  it("come by a link that works once, and owners decide who stays", async () => {
    const [ann, ben] = [world.browser(), world.browser()];
    await ann.signIn("ann@example.com");
    const organization = organizationOf(ann);
    const saved = await ann.submit("name", { name: "Acme & Sons" });
    expect(saved.text).toContain("Acme &#38; Sons");
    const link = linkIn(await ann.submit("invitations", { role: "member" }));
    expect((await ben.get(link)).text).toContain("You become a member of Acme &#38; Sons.");
    await ben.signIn(
      "ben@example.com",
      new URL(link).pathname.replace("invitation", "sign-in") +
        new URL(link).search.replace("code", "invitation"),
    );
    expect(ben.page.text).toContain("You are signed in as <strong>ben</strong>");
    const joined = await ben.submit("invitation");
    expect([joined.status, new URL(joined.url).searchParams.get("organization")]).toEqual([
      200,
      organization,
    ]);
    expect(joined.text).not.toContain('action="/account/invitations"');
    expect((await world.browser().get(link)).status).toBe(404);
    expect(keyIn(await ben.submit("keys"))).toMatch(/^sk_live_rw_/);
    await ann.get("/account");
    const [row] = await world.sql("SELECT id FROM routewright_keys.people WHERE subject = 'ben@example.com'");
    const id = String(row?.["id"]);
    await ann.submit("members/role", { person: id, role: "owner" });
    expect(ann.page.text).toContain("The role is changed.");
    await ann.submit("members/remove", { person: id });
    expect(ann.page.text).toContain("The person is removed.");
    expect((await ben.get(`/account?organization=${organization}`)).status).toBe(404);
    const actions = await world.sql(
      "SELECT action FROM routewright_keys.audit WHERE organization = $1 ORDER BY id",
      [organization],
    );
    expect(actions.map(({ action }) => action)).toEqual([
      "organization",
      "joined",
      "named",
      "invited",
      "joined",
      "created",
      "role",
      "left",
    ]);
  });

  it("are erased with their account: names go, keys end, counts and the log stay", async () => {
    const own = await accountWorld(OPEN, { USAGE_ENABLED: "true" });
    const dan = own.browser();
    await dan.signIn("dan@example.com");
    const organization = organizationOf(dan);
    const key = keyIn(await dan.submit("keys", { name: "Dan's laptop" }));
    await expect.poll(async () => (await rowsOf(own, key)).status, SOON).toBe(200);
    await dan.get("/account");
    const gone = await dan.submit("delete", { sure: "yes" });
    expect(gone.text).toContain("Your account is deleted");
    await expect.poll(async () => (await rowsOf(own, key)).status, SOON).toBe(403);
    expect((await dan.get("/account")).text).toContain("Get a key");
    const rows = await own.sql(
      "SELECT user_name, revoked_at IS NOT NULL AS ended FROM routewright_keys.keys WHERE organization = $1",
      [organization],
    );
    expect(rows).toEqual([{ user_name: "", ended: true }]);
    const everything = await own.sql(`SELECT (SELECT json_agg(p) FROM routewright_keys.people p) AS people,
      (SELECT json_agg(s) FROM routewright_keys.sessions s) AS sessions, (SELECT json_agg(m) FROM routewright_keys.members m) AS members,
      (SELECT json_agg(a)::text FROM routewright_keys.audit a) AS audit`);
    expect(everything[0]).toMatchObject({ people: null, sessions: null, members: null });
    expect(String(everything[0]?.["audit"])).not.toMatch(/dan@|"dan"|laptop/);
  });
});

describe("sign-up", () => {
  it.each([
    ["by the domain of a verified address", "dan@example.com", 200],
    ["not by an address that is not verified", "unverified@example.com", 403],
    ["not by a subdomain", "eve@sub.example.com", 403],
    ["not by a domain that ends alike", "eve@notexample.com", 403],
    ["not without an address", "nobody", 403],
  ])("is open %s", async (_, login, status) => {
    const world = await accountWorld({ plan: "free", who: "mailDomains", mailDomains: ["example.com"] });
    expect((await world.browser().signIn(login)).status).toBe(status);
    const people = await world.sql("SELECT FROM routewright_keys.people");
    expect(people).toHaveLength(status === 200 ? 1 : 0);
  });

  it("is open to those with an invitation of an operator, on the plan of signUp", async () => {
    const world = await accountWorld({ plan: "pro", who: "invitation" });
    expect((await world.browser().signIn("ann@example.com")).status).toBe(403);
    const { link = "" } = await world.operate("/invitations", {});
    const ann = world.browser();
    await ann.signIn(
      "ann@example.com",
      `/account/sign-in?invitation=${new URL(link).searchParams.get("code") ?? ""}`,
    );
    const joined = await ann.submit("invitation");
    expect([joined.status, joined.text]).toEqual([200, expect.stringContaining("<dd>pro</dd>")]);
  });

  it("is closed where the config file has none", async () => {
    const world = await accountWorld(null);
    expect((await world.browser().get("/account")).text).toContain("You need an invitation.");
    expect((await world.browser().signIn("ann@example.com")).status).toBe(403);
  });
});

describe("the account page below a path of a proxy", () => {
  it("works, with all its addresses below that path", async () => {
    let target = "";
    const proxy = await listen(
      createServer((incoming, outgoing) => {
        const path = (incoming.url ?? "").replace(/^\/data/, "");
        const { method, headers } = incoming;
        const passed = request(target + path, { method, headers }, (reply) => {
          outgoing.writeHead(reply.statusCode ?? 0, reply.headers);
          reply.pipe(outgoing);
        });
        incoming.pipe(passed);
      }),
    );
    const world = await accountWorld(OPEN, {}, `http://${proxy}/data`);
    target = world.url;
    const ann = world.browser();
    await ann.get("/data/account");
    expect(ann.page.text).toContain('href="/data/account/sign-in"');
    const first = await ann.signIn("ann@example.com");
    expect(first.url).toBe(`http://${proxy}/data/account`);
    for (const [, link = ""] of first.text.matchAll(/ (?:href|src|action)="([^"]+)"/g))
      expect(link).toMatch(/^(#|data:|\/data\/)/);
    const made = await ann.submit("keys");
    expect(made.text).toContain(`http://${proxy}/data/v1/shop/sales`);
    for (const file of ["frame.css", "account-style.css", "theme.js"])
      expect((await ann.get(`/data/docs/${file}`)).status).toBe(200);
  });
});

describe("the pages of the documentation", () => {
  it.each(["/explore", "/guide", "/docs"])("%s offers a key where there is an account page", async (path) => {
    const world = await accountWorld();
    expect((await sendRequest(world.url, path)).text).toContain('<a href="account">Get a key</a>');
  });
});
