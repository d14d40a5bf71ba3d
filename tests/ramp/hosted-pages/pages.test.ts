import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openBrowser } from "../../pages/browser.js";
import { expectAccessible } from "../../pages/explorer/page.js";
import { needs } from "../../support/needs.js";
import { fillIn, offramp, ownSite, inspect, titled } from "../support/page-site.js";
import { newCustomer, north, onramp, ownWorld, untilTrue, WALLET } from "../support/world.js";

const isThere = needs("chromium");
const world = isThere ? await ownWorld() : null;
const [site, otherSite] = [await ownSite(), await ownSite()];

describe.skipIf(world === null)("the hosted pages in a browser", () => {
  const ramp = world!;
  let browser: Awaited<ReturnType<typeof openBrowser>>;
  let plain: BrowserContext;
  let project: Awaited<ReturnType<typeof ramp.project>>;
  const foreign: string[] = [];
  const complaints: string[] = [];

  beforeAll(async () => {
    browser = await openBrowser();
    plain = await browser.context.browser()!.newContext({ javaScriptEnabled: false });
    for (const context of [browser.context, plain]) context.setDefaultTimeout(90_000);
    await ramp.sandbox.set({ settleMs: 50 });
    project = await ramp.project();
    await ramp.rows("UPDATE ramp.projects SET page_origins = $2 WHERE id = $1", [project.id, [site.origin]]);
  });
  afterAll(() => browser.close());

  async function newPage(context = browser.context): Promise<Page> {
    const page = await context.newPage();
    await page.setViewportSize({ width: 390, height: 844 });
    page.on("request", (request) => {
      const url = request.url();
      const isOwn = [ramp.url, ramp.sandbox.url, site.origin, otherSite.origin].some((origin) =>
        url.startsWith(`${origin}/`),
      );
      if (!isOwn && !/^data:/.test(url)) foreign.push(url);
    });
    page.on("console", (message) => {
      if (message.type() === "error") complaints.push(message.text());
    });
    page.on("pageerror", (error) => complaints.push(error.message));
    return page;
  }

  type PageTest = (page: Page) => Promise<void>;
  /** Runs a test in a page of its own, which is closed at its end: one in the background would go on drawing. */
  const inPage = async (test: PageTest, context?: BrowserContext): Promise<void> => {
    const page = await newPage(context);
    await test(page).finally(() => page.close());
  };
  const alone = (name: string, test: PageTest): void => it(name, () => inPage(test));
  // These wait for the pages' own timers most of the time, and leave the sandbox's switches alone.
  const sideBySide = (name: string, test: PageTest): void => it.concurrent(name, () => inPage(test));
  const withoutScript = (name: string, test: PageTest): void =>
    it.concurrent(name, () => inPage(test, plain));

  async function create(body: Record<string, unknown>): Promise<{ id: string; url: string; auth: string }> {
    const auth = await newCustomer(ramp, project);
    const { status, json, text } = await ramp.call("POST", "/v1/intent", { auth, body });
    expect(status, text).toBe(201);
    return { id: json.intent.id, url: json.onboardingUrl ?? json.checkoutUrl, auth };
  }

  async function statusOf({ id, auth }: { id: string; auth: string }): Promise<string> {
    return (await ramp.call("GET", `/v1/intent/${id}`, { auth })).json.intent.status;
  }

  alone("has no accessibility violation in the reference; `inspect` checks the pages", async (page) => {
    await page.goto(`${ramp.url}/docs`);
    await page.locator(".opblock-tag").first().waitFor();
    await page.waitForLoadState("networkidle");
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    await expectAccessible(page);
  });

  sideBySide("ends a rejected identity check with the reason", async (page) => {
    const intent = await create(north());
    await page.goto(intent.url);
    await fillIn(page, "Reject");
    await titled(page, "Identity check not passed");
    await page.getByText("The identity could not be confirmed.").waitFor();
    await inspect(page, "6-rejected");
    expect(await statusOf(intent)).toBe("COMPLIANCE_FAILED");
  });

  sideBySide("shows the error beside each field and keeps what was typed", async (page) => {
    const intent = await create(north());
    await page.goto(intent.url);
    await page.getByLabel("Full name").fill("Ada Lovelace");
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("alert").waitFor();
    await inspect(page, "8-errors");
    expect(await page.evaluate("document.activeElement.className")).toBe("summary");
    const date = page.getByLabel("Date of birth");
    expect(await date.getAttribute("aria-invalid")).toBe("true");
    const described = (await date.getAttribute("aria-describedby")) ?? "";
    expect(await page.locator(`[id="${described}"]`).innerText()).toBe("Fill in: Date of birth.");
    expect(await page.getByLabel("Full name").inputValue()).toBe("Ada Lovelace");
    await page.getByRole("link", { name: "Fill in: Date of birth." }).click();
    expect(await page.evaluate("document.activeElement.id")).toBe(await date.getAttribute("id"));
    expect(await statusOf(intent)).toBe("COMPLIANCE_IN_PROGRESS");
  });

  sideBySide("offers a new price where the accepted one has ended, and pays at it", async (page) => {
    const intent = await create(onramp({ srcAmount: "44.05", providerId: "sandbox-south" }));
    await page.goto(intent.url);
    await titled(page, "Ready to pay");
    await untilTrue(async () => {
      await page.reload();
      return (await page.getByText("no longer holds the price").count()) > 0;
    });
    await page.getByRole("button", { name: "Continue to payment" }).click();
    await titled(page, "The price has changed");
    await inspect(page, "12-offer");
    await page.getByRole("button", { name: "Accept the new price" }).click();
    await titled(page, /^(Send 44\.05|Payment complete)/);
  });

  withoutScript("goes all the way without JavaScript", async (page) => {
    const intent = await create(north());
    await page.goto(intent.url);
    await fillIn(page, "Approve", "Grace Hopper");
    await titled(page, "Ready to pay");
    await page.getByRole("button", { name: "Continue to payment" }).click();
    await titled(page, "Payment complete");
    expect(await statusOf(intent)).toBe("COMPLETED");
  });

  withoutScript("follows the redirect URL without JavaScript", async (page) => {
    const target = `${site.origin}/plain`;
    const intent = await create(north({ onboardingRedirectUrl: target }));
    await page.goto(intent.url);
    await fillIn(page, "Reject");
    await page.waitForURL(`${target}?intentId=${intent.id}&status=COMPLIANCE_FAILED`);
  });

  sideBySide("goes to the onboarding redirect URL after onboarding, and keeps its query", async (page) => {
    const intent = await create(north({ onboardingRedirectUrl: `${site.origin}/back?shop=7` }));
    await page.goto(intent.url);
    await fillIn(page, "Approve");
    await page.waitForURL(`${site.origin}/back?shop=7&intentId=${intent.id}&status=PENDING_PAYMENT`);
  });

  sideBySide("goes to the checkout redirect URL after checkout", async (page) => {
    const intent = await create(
      north({
        onboardingRedirectUrl: `${site.origin}/back`,
        checkoutRedirectUrl: `${site.origin}/paid`,
        autoExecute: true,
      }),
    );
    await page.goto(intent.url);
    await fillIn(page, "Approve");
    await page.waitForURL(`${site.origin}/paid?intentId=${intent.id}&status=COMPLETED`);
  });

  sideBySide("notifies the window that opened it when the intent is completed", async (page) => {
    const intent = await create(north({ autoExecute: true }));
    await page.goto(`${site.origin}/popup?page=${encodeURIComponent(intent.url)}`);
    const [popup] = await Promise.all([
      page.waitForEvent("popup"),
      page.getByRole("button", { name: "Open" }).click(),
    ]);
    await fillIn(popup, "Approve");
    await titled(popup, "Payment complete");
    const heard = page.locator("#heard");
    await untilTrue(async () => (await heard.innerText()) !== "");
    expect(await heard.innerText()).toBe(
      JSON.stringify([
        ramp.url,
        { type: "INTENT_COMPLETED", payload: { intentId: intent.id, status: "COMPLETED" } },
      ]),
    );
  });

  sideBySide(
    "works in a frame of a registered origin, and notifies it when the customer leaves",
    async (page) => {
      const intent = await create(north());
      await page.goto(`${site.origin}/frame?page=${encodeURIComponent(intent.url)}`);
      const frame = page.frameLocator("iframe");
      await frame.getByRole("heading", { level: 1, name: "Identity check" }).waitFor();
      await frame.getByRole("button", { name: "Leave without finishing" }).click();
      await frame.getByRole("heading", { level: 1, name: "You have left" }).waitFor();
      const heard = page.locator("#heard");
      await untilTrue(async () => (await heard.innerText()) !== "");
      expect(await heard.innerText()).toBe(
        JSON.stringify([
          ramp.url,
          { type: "INTENT_DISMISSED", payload: { intentId: intent.id, status: "COMPLIANCE_IN_PROGRESS" } },
        ]),
      );
      expect(await statusOf(intent)).toBe("COMPLIANCE_IN_PROGRESS");
      await frame.getByRole("button", { name: "Return to the payment" }).click();
      await frame.getByRole("heading", { level: 1, name: "Identity check" }).waitFor();
    },
  );

  alone("brings an approved on-ramp to completed, with the bank details on the way", async (page) => {
    const intent = await create(north());
    await page.goto(intent.url);
    await titled(page, "Identity check");
    await expect(page.locator("html").getAttribute("lang")).resolves.toBe("en");
    const about = await page.locator("dl").innerText();
    for (const shown of ["100.00 USD", "USDC on Polygon PoS", WALLET, "ACH transfer", "Sandbox North"])
      expect(about).toContain(shown);
    expect(about).toMatch(/Fees, included\s+(about )?\d+\.\d+ USD/);
    expect(about).toMatch(/Open until\s+\w+ \d+, \d{4}.* UTC/);
    const whole = await page.locator("main").innerText();
    expect(whole).toContain("Sandbox: no real money moves.");
    expect(whole).toContain(
      "What you enter goes to Sandbox North alone. It is not stored here, and Test does not get it",
    );
    expect(
      (await page.locator("form label, form legend").allInnerTexts()).map((label) => label.trim()),
    ).toEqual(["Full name", "Date of birth", "Sandbox decision", "Approve", "Reject", "Ask for more"]);
    await inspect(page, "1-form");
    await ramp.sandbox.set({ settleMs: 600_000 });
    await fillIn(page, "Approve");
    await titled(page, "Checking your details");
    await inspect(page, "2-checking");
    await fetch(`${ramp.sandbox.url}/clock`, { method: "POST", body: '{"advanceSeconds":600}' });
    await titled(page, "Ready to pay");
    await inspect(page, "3-ready");
    await ramp.sandbox.set({ settleMs: 50, execution: "stall" });
    await page.getByRole("button", { name: "Continue to payment" }).click();
    await titled(page, "Send 100.00 USD");
    expect(await page.locator("dl").last().innerText()).toMatch(/Pay by\s+\w+ \d+, \d{4}/);
    await inspect(page, "4-pay");
    await page.getByRole("button", { name: "Copy Account number" }).click();
    await page.getByRole("status").filter({ hasText: "Account number copied." }).waitFor();
    expect(await page.locator("main").innerText()).toContain("021000021");
    // Another intent that settles; this one's provider does not settle.
    await ramp.sandbox.set({ execution: "settle" });
    expect(await statusOf(intent)).toBe("TRANSACTION_IN_PROGRESS");
    const second = await create(north({ autoExecute: true }));
    await page.goto(second.url);
    await fillIn(page, "Approve");
    await titled(page, "Payment complete");
    // Nothing is left to do in time.
    expect(await page.locator("main").innerText()).not.toMatch(/Pay by|Open until/);
    await inspect(page, "5-complete");
    expect(await statusOf(second)).toBe("COMPLETED");
  });

  alone("shows a refunded and a cancelled payment, and that the customer has left", async (page) => {
    const cancelled = await create(north());
    await page.goto(cancelled.url);
    await page.getByRole("button", { name: "Leave without finishing" }).click();
    await titled(page, "You have left");
    await inspect(page, "11-left");
    await ramp.call("POST", `/v1/intent/${cancelled.id}/cancel`, { auth: cancelled.auth });
    await page.goto(cancelled.url);
    await titled(page, "Payment cancelled");
    await inspect(page, "12-cancelled");

    const refunded = await create(north({ autoExecute: true }));
    await page.goto(refunded.url);
    await fillIn(page, "Approve");
    await titled(page, "Payment complete");
    const refund = JSON.stringify([{ id: "r1", amount: "100.00", reason: "ACH return R01" }]);
    await ramp.rows("UPDATE ramp.transactions SET status = 'REFUNDED', refunds = $2 WHERE intent_id = $1", [
      refunded.id,
      refund,
    ]);
    await page.reload();
    await titled(page, "Payment refunded");
    await inspect(page, "15-refunded");
  });

  alone(
    "shows an address and its network for an off-ramp, and no more of the account than its end",
    async (page) => {
      await ramp.sandbox.set({ execution: "stall" });
      const intent = await create(offramp({ autoExecute: true }));
      await page.goto(intent.url);
      await fillIn(page, "Approve");
      await titled(page, "Send 50.00 USDC");
      const text = await page.locator("main").innerText();
      expect(text).toContain("0x00000000000000000000000000000000005a4d00");
      expect(text).toContain("Send USDC on POLYGON only.");
      expect(text).toContain("•••• 4321");
      expect(text).not.toContain("000987654321");
      await inspect(page, "7-crypto");
      await ramp.sandbox.set({ execution: "settle" });
    },
  );

  alone("is not shown in a frame of another origin", async (page) => {
    const intent = await create(north());
    const before = complaints.length;
    await page.goto(`${otherSite.origin}/frame?page=${encodeURIComponent(intent.url)}`);
    await untilTrue(() => complaints.slice(before).some((text) => text.includes("frame-ancestors")));
    complaints.splice(before);
    expect(await page.frameLocator("iframe").getByRole("heading", { name: "Identity check" }).count()).toBe(
      0,
    );
  });

  alone("shows hostile names and labels as the text that they are", async (page) => {
    const hostile = `"><script>document.title="hacked"</script><img src=x onerror=alert(1)>'`;
    const intent = await create(north());
    const form = JSON.stringify({
      type: "object",
      properties: { [hostile]: { type: "string", title: `${hostile}1`, description: `${hostile}2` } },
      required: [hostile],
    });
    await ramp.rows("UPDATE ramp.requirements SET title = $2, form = $3, attempt = 9 WHERE intent_id = $1", [
      intent.id,
      `${hostile}0`,
      form,
    ]);
    await ramp.rows("UPDATE ramp.projects SET name = $2 WHERE id = $1", [project.id, hostile]);
    await page.goto(intent.url);
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("alert").waitFor();
    await page.getByLabel(`${hostile}1`).fill(hostile);
    const text = await page.locator("main").innerText();
    for (const shown of [hostile, `${hostile}0`, `${hostile}1`, `${hostile}2`]) expect(text).toContain(shown);
    expect(await page.title()).toBe(`Error: ${hostile}0`);
    expect(await page.locator("main script, main img").count()).toBe(0);
    await ramp.rows("UPDATE ramp.projects SET name = 'Test' WHERE id = $1", [project.id]);
  });

  alone(
    "leads to the provider's page of the check and back, and to that of the payment and back",
    async (page) => {
      const check = await create(onramp({ srcAmount: "44.15" }));
      await page.goto(check.url);
      await titled(page, "Identity check");
      await inspect(page, "11-check-elsewhere");
      await page.getByRole("link", { name: /^Continue at / }).click();
      await titled(page, "Identity check of Sandbox South");
      await page.getByRole("button", { name: "Approve the identity" }).click();
      await titled(page, "Ready to pay");
      expect(page.url()).toBe(check.url);
      const { auth } = check;
      const payment = await ramp.call("POST", "/v1/intent", {
        auth,
        body: onramp({ srcAmount: "44.28", autoExecute: true }),
      });
      await page.goto(String(payment.json.checkoutUrl));
      await page.getByRole("heading", { name: "Pay on the provider's page" }).waitFor();
      await inspect(page, "12-payment-elsewhere");
      await page.getByRole("link", { name: /^Continue at / }).click();
      await page.getByRole("button", { name: "Pay", exact: true }).click();
      await titled(page, "Payment complete");
    },
  );

  alone("opens the provider's page in a tab of its own where it is in a frame", async (page) => {
    const { url } = await create(onramp({ srcAmount: "44.15" }));
    await page.goto(`${site.origin}/frame?${new URLSearchParams({ page: url }).toString()}`);
    const link = page.frameLocator("iframe").getByRole("link", { name: /^Continue at / });
    await link.waitFor();
    expect(await link.getAttribute("target")).toBe("_blank");
  });

  alone("shows that the link has expired while the page is open", async (page) => {
    await ramp.sandbox.set({ settleMs: 600_000 });
    const intent = await create(north());
    await page.goto(intent.url);
    await fillIn(page, "Approve");
    await titled(page, "Checking your details");
    await ramp.sandbox.set({ settleMs: 50 });
    // The link outlives the intent by a day.
    await ramp.rows("UPDATE ramp.intents SET expires_at = now() - interval '24 hours' WHERE id = $1", [
      intent.id,
    ]);
    await titled(page, "This link has expired");
    await inspect(page, "10-expired");
  });

  it("calls no other host, and breaks none of its own rules", () => {
    expect(foreign).toEqual([]);
    const own = complaints.filter((text) => !/status of (410|422)/.test(text));
    expect(own).toEqual([]);
  });
});
