/** Attacks on sessions, forms and the sign-in of the account page, over HTTP. */
import { describe, expect, it } from "vitest";
import { sendRequest } from "../../support/http-client.js";
import type { Browser } from "./account-world.js";
import { accountWorld, OPEN, OPERATOR, type Page } from "./account-world.js";

const COOKIE = "routewright-session";
const world = await accountWorld();

let people = 0;

/** Somebody who is signed in. */
async function somebody(): Promise<Browser> {
  const browser = world.browser();
  await browser.signIn(`p${String(++people)}@example.com`);
  return browser;
}

const isSignedIn = async (browser: Browser): Promise<boolean> =>
  (await browser.get("/account")).text.includes("Signed in as");

/** A browser that has this cookie. */
function withSession(session: string): Browser {
  const browser = world.browser();
  browser.setCookie(COOKIE, session);
  return browser;
}

const keysIn = async (): Promise<number> => (await world.sql("SELECT FROM routewright_keys.keys")).length;

/** Where the issuer leads the browser back, without going there. */
async function callbackOf(browser: Browser, login: string): Promise<string> {
  const page = await browser.get("/account/sign-in");
  let { headers } = await browser.post(page.url, { login }, { follows: false });
  for (let i = 0; i < 5; i++) {
    const { location = "" } = headers;
    if (location.includes("/account/callback")) return location;
    ({ headers } = await browser.get(location, { follows: false }));
  }
  throw new Error("the issuer leads nowhere");
}

const refused = (page: Page): void => {
  expect(page.status).toBeGreaterThanOrEqual(400);
  expect(page.headers["set-cookie"]?.join() ?? "").not.toContain(COOKIE);
};

describe("a session", () => {
  it("is not the one that an attacker gave the browser before sign-in (fixation)", async () => {
    const browser = world.browser();
    const planted = "A".repeat(43);
    browser.setCookie(COOKIE, planted);
    await browser.signIn("fixed@example.com");
    expect(browser.cookie(COOKIE)).not.toBe(planted);
    expect(await isSignedIn(withSession(planted))).toBe(false);
  });

  it("is another one at each sign-in", async () => {
    const browser = await somebody();
    const first = browser.cookie(COOKIE);
    await browser.get("/account/sign-in");
    expect(browser.cookie(COOKIE)).not.toBe(first);
  });

  it("is a cookie that no script reads and no other site sends", async () => {
    const browser = world.browser();
    const back = await callbackOf(browser, "cookie@example.com");
    const { headers } = await browser.get(back, { follows: false });
    const cookie = headers["set-cookie"]?.find((each) => each.startsWith(COOKIE));
    expect(cookie).toMatch(/; Path=\/account; HttpOnly; SameSite=Lax; Max-Age=43200$/);
  });

  it("over https cannot be planted by another host of the domain", async () => {
    const secure = await accountWorld(OPEN, {}, "https://data.example.com/api");
    const { headers } = await sendRequest(secure.url, "/account/sign-in");
    expect(headers["set-cookie"]?.[0]).toMatch(
      /^__Host-routewright-login=[\w-]+; Path=\/; Secure; HttpOnly; SameSite=Lax/,
    );
    expect(headers.location).toContain(encodeURIComponent("https://data.example.com/api/account/callback"));
  });

  it("ends with sign-out, also for who has copied the cookie", async () => {
    const browser = await somebody();
    const copied = withSession(browser.cookie(COOKIE) ?? "");
    expect(await isSignedIn(copied)).toBe(true);
    await browser.get("/account");
    await browser.submit("sign-out");
    expect(browser.cookie(COOKIE)).toBeUndefined();
    expect(await isSignedIn(copied)).toBe(false);
  });

  it("ends by itself", async () => {
    const browser = await somebody();
    const id = browser.fields("keys");
    await world.sql("UPDATE routewright_keys.sessions SET expires_at = now() - interval '1 s'");
    expect(await isSignedIn(browser)).toBe(false);
    expect((await browser.post("/account/keys", id)).status).toBe(401);
  });

  it.each(["", "x", "' OR 1=1 --", "B".repeat(43), "C".repeat(5000)])("is not guessed: %s", async (text) => {
    expect(await isSignedIn(withSession(text))).toBe(false);
  });

  it("does not count beside a second cookie of its name (cookie tossing)", async () => {
    const [browser, attacker] = [await somebody(), await somebody()];
    const cookie = `${COOKIE}=${attacker.cookie(COOKIE) ?? ""}; ${COOKIE}=${browser.cookie(COOKIE) ?? ""}`;
    const { text } = await browser.get("/account", { headers: { cookie } });
    expect(text).not.toContain("Signed in as");
  });

  it("is not in the database, which has its digest alone", async () => {
    const browser = await somebody();
    const rows = await world.sql("SELECT digest FROM routewright_keys.sessions");
    expect(JSON.stringify(rows)).not.toContain(browser.cookie(COOKIE));
  });

  it("opens no endpoint, and a key of an operator opens no account", async () => {
    const browser = await somebody();
    const cookie = `${COOKIE}=${browser.cookie(COOKIE) ?? ""}`;
    expect((await sendRequest(world.url, "/v1/shop/sales", { headers: { cookie } })).status).toBe(403);
    const page = await sendRequest(world.url, "/account", { key: OPERATOR });
    expect(page.text).not.toContain("Signed in as");
  });
});

describe("a form (CSRF)", () => {
  const attempts: readonly (readonly [string, (browser: Browser) => Promise<Page>])[] = [
    ["without the token", (browser) => browser.submit("keys", { form: "" })],
    [
      "with a token of another session",
      async (browser) => browser.submit("keys", { form: (await somebody()).fields("keys")["form"] ?? "" }),
    ],
    [
      "of another site",
      (browser) => browser.submit("keys", {}, { headers: { "sec-fetch-site": "cross-site" } }),
    ],
    [
      "of another host of the domain",
      (browser) => browser.submit("keys", {}, { headers: { "sec-fetch-site": "same-site" } }),
    ],
    [
      "of another origin",
      (browser) => browser.submit("keys", {}, { headers: { origin: "https://evil.example" } }),
    ],
    ["of a sandboxed frame", (browser) => browser.submit("keys", {}, { headers: { origin: "null" } })],
    ["as plain text", (browser) => browser.submit("keys", {}, { headers: { "content-type": "text/plain" } })],
    ["as JSON", (browser) => browser.submit("keys", {}, { headers: { "content-type": "application/json" } })],
  ];

  it.each(attempts)("%s makes no key", async (_, attempt) => {
    const browser = await somebody();
    const before = await keysIn();
    expect((await attempt(browser)).status).toBe(403);
    expect(await keysIn()).toBe(before);
  });

  it.each([
    "keys",
    "keys/rotate",
    "keys/revoke",
    "invitations",
    "members/remove",
    "name",
    "delete",
    "sign-out",
  ])("%s is not sent by a link", async (action) => {
    const browser = await somebody();
    expect(
      (await browser.get(`/account/${action}?${new URLSearchParams(browser.fields("keys")).toString()}`))
        .status,
    ).toBe(405);
    expect(await isSignedIn(browser)).toBe(true);
  });

  it("stands in no frame of another page, and no page of another origin reads it", async () => {
    const browser = await somebody();
    const { headers } = await browser.get("/account", { headers: { origin: "https://evil.example" } });
    expect(headers["content-security-policy"]).toContain("frame-ancestors 'none'");
    expect(headers["content-security-policy"]).not.toContain("unsafe-inline");
    expect(headers["access-control-allow-origin"]).toBeUndefined();
    expect(headers["cache-control"]).toBe("no-store");
  });
});

describe("the sign-in", () => {
  it("asks the issuer with PKCE, state and nonce, which differ each time", async () => {
    const asked = async () => {
      const { headers } = await world.browser().get("/account/sign-in", { follows: false });
      return new URL(headers.location ?? "").searchParams;
    };
    const [one, other] = [await asked(), await asked()];
    expect(one.get("code_challenge_method")).toBe("S256");
    for (const name of ["state", "nonce", "code_challenge"]) {
      expect(one.get(name)).toMatch(/^[\w-]{43}$/);
      expect(one.get(name)).not.toBe(other.get(name));
    }
  });

  it("does not end in a browser that did not begin it (login CSRF)", async () => {
    const back = await callbackOf(world.browser(), "attacker@example.com");
    const victim = world.browser();
    const page = await victim.get(back);
    refused(page);
    expect(victim.cookie(COOKIE)).toBeUndefined();
  });

  it("does not take a code that another browser got (code injection)", async () => {
    const stolen = new URL(await callbackOf(world.browser(), "victim@example.com"));
    const attacker = world.browser();
    const own = new URL(await callbackOf(attacker, "attacker@example.com"));
    own.searchParams.set("code", stolen.searchParams.get("code") ?? "");
    const page = await attacker.get(own.href);
    refused(page);
    expect(attacker.cookie(COOKIE)).toBeUndefined();
  });

  it("takes a code once", async () => {
    const browser = world.browser();
    const back = await callbackOf(browser, "twice@example.com");
    const login = browser.cookie("routewright-login") ?? "";
    await browser.get(back);
    const again = world.browser();
    again.setCookie("routewright-login", login);
    refused(await again.get(back));
    expect(again.cookie(COOKIE)).toBeUndefined();
  });

  it.each([
    ["another state", (url: URL) => url.searchParams.set("state", "x".repeat(43))],
    ["no state", (url: URL) => url.searchParams.delete("state")],
    ["a made-up code", (url: URL) => url.searchParams.set("code", "made-up")],
    ["another issuer", (url: URL) => url.searchParams.set("iss", "https://evil.example")],
    ["no parameters", (url: URL) => (url.search = "")],
  ])("refuses %s", async (_, change) => {
    const browser = world.browser();
    const url = new URL(await callbackOf(browser, "changed@example.com"));
    change(url);
    refused(await browser.get(url.href));
    expect(browser.cookie(COOKIE)).toBeUndefined();
  });

  it("refuses a cookie that it has not sealed", async () => {
    const browser = world.browser();
    const back = await callbackOf(browser, "sealed@example.com");
    const login = browser.cookie("routewright-login") ?? "";
    for (const changed of [
      `${login.slice(0, -2)}AA`,
      "A".repeat(200),
      "",
      Buffer.from("{}").toString("base64url"),
    ]) {
      browser.setCookie("routewright-login", changed);
      refused(await browser.get(back));
    }
  });

  it("shows nothing of what an address says of a refusal", async () => {
    const browser = world.browser();
    const { searchParams } = new URL(await callbackOf(browser, "shown@example.com"));
    const page = await browser.get(
      `/account/callback?error=access_denied&error_description=<script>alert(1)</script>&state=${searchParams.get("state") ?? ""}&iss=${encodeURIComponent(world.issuer)}`,
    );
    expect([page.status, page.text.includes("alert(1)")]).toEqual([400, false]);
  });

  it.each(["return_to", "next", "redirect_uri", "organization", "invitation", "iss"])(
    "leads to the issuer and back to this page alone, whatever %s says (open redirect)",
    async (name) => {
      const browser = world.browser();
      const target = encodeURIComponent("https://evil.example//evil.example");
      const begun = await browser.get(`/account/sign-in?${name}=${target}`, { follows: false });
      expect(begun.headers.location).toMatch(new RegExp(`^${world.issuer}/auth\\?`));
      expect(begun.headers.location).not.toContain("evil");
      await browser.signIn(`open-${name}@example.com`, `/account/sign-in?${name}=${target}`);
      expect(browser.page.url).toBe(`${world.url}/account`);
    },
  );

  it("is limited: 20 attempts of a network in a minute", async () => {
    const browser = world.browser();
    const statuses: number[] = [];
    for (let i = 0; i < 22; i++)
      statuses.push((await browser.get("/account/sign-in", { follows: false })).status);
    expect(statuses).toEqual([...Array<number>(20).fill(303), 429, 429]);
    expect(Number(browser.page.headers["retry-after"])).toBeGreaterThan(0);
    expect((await world.browser().get("/account/sign-in", { follows: false })).status).toBe(303);
  });

  it("says that an issuer which does not respond is away, and goes on once it is back", async () => {
    const other = await accountWorld(OPEN, { ACCOUNT_ISSUER: "http://127.0.0.1:9" });
    expect((await other.browser().get("/account/sign-in")).status).toBe(502);
    expect((await other.browser().get("/account")).status).toBe(200);
  });
});
