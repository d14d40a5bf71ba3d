/** Identity checks and payments on pages of the provider's own: `url` of a requirement or an instruction, and the way back. */
import { describe, expect, it } from "vitest";
import type { Instruction } from "../../../runtime/ramp/providers/protocol.js";
import { isPageAddress } from "../../../runtime/ramp/providers/message-fields.js";
import { ownCards } from "../support/card-provider.js";
import { eventually, newCustomer, onramp, ownWorld, type Reply } from "../support/world.js";

const world = await ownWorld();
const project = await world.project({ providers: ["sandbox-south"] });

async function create(srcAmount: string, more: object = {}) {
  const auth = await newCustomer(world, project);
  const reply = await world.call("POST", "/v1/intent", { auth, body: onramp({ srcAmount, ...more }) });
  expect(reply.status, reply.text).toBe(201);
  const { id } = reply.json.intent;
  const read = (): Promise<Reply> => world.call("GET", `/v1/intent/${String(id)}`, { auth });
  const until = async (isSo: (json: Reply["json"]) => boolean): Promise<Reply["json"]> =>
    (await eventually(read, ({ json }) => isSo(json))).json;
  return { reply, until };
}

const show = (url: string): Promise<Reply> => world.call("GET", new URL(url).pathname);
/** Decides on a page of the sandbox's, and returns where it leads. */
const decide = async (url: string, decision: string): Promise<string | null> => {
  expect((await fetch(url)).status).toBe(200);
  const body = new URLSearchParams({ decision });
  return (await fetch(url, { method: "POST", body, redirect: "manual" })).headers.get("location");
};

describe("an identity check on the provider's page", () => {
  it("is a link on the hosted page and in the intent; the customer comes back to the hosted page", async () => {
    const { reply, until } = await create("44.15");
    const { intent, onboardingUrl } = reply.json;
    const [{ url, ...requirement }] = intent.requirements;
    expect(requirement).toEqual({ code: "KYC_VERIFICATION", title: "Identity check", status: "PENDING" });
    expect(new URL(url as string).searchParams.get("return_url")).toBe(onboardingUrl);
    const { text } = await show(onboardingUrl as string);
    expect(text).toContain(`href="${String(url).replaceAll("&", "&#38;")}"`);
    expect(text).toContain(`Continue at ${new URL(world.sandbox.url).host}`);
    expect(text).not.toContain("<input");
    expect(await decide(String(url), "approve")).toBe(onboardingUrl);
    const done = await until((json) => json.intent.status === "PENDING_PAYMENT");
    expect(done.intent.requirements).toEqual([{ ...requirement, status: "COMPLETED" }]);
  });

  it("can be asked for again, with the reason", async () => {
    const { reply, until } = await create("44.15");
    await decide(String(reply.json.intent.requirements[0].url), "more");
    const again = await until((json) => json.intent.requirements[0].reason !== undefined);
    expect(again.intent.requirements[0]).toMatchObject({ status: "PENDING", url: expect.any(String) });
    expect((await show(again.onboardingUrl as string)).text).toContain("The photo cannot be read.");
    await decide(String(again.intent.requirements[0].url), "reject");
    const failed = await until((json) => json.intent.status === "COMPLIANCE_FAILED");
    expect(failed.intent.requirements[0]).toMatchObject({ status: "FAILED" });
  });

  it("leads nowhere but to the ramp", async () => {
    const { reply } = await create("44.15");
    const url = new URL(String(reply.json.intent.requirements[0].url));
    url.searchParams.set("return_url", "https://evil.example/");
    expect(await decide(url.href, "approve")).toBeNull();
  });
});

describe("a payment on the provider's page", () => {
  it("is a link on the payment page, which a customer has who needed no check", async () => {
    const { reply, until } = await create("44.28", { autoExecute: true });
    const { onboardingUrl, checkoutUrl, transaction } = reply.json;
    expect(onboardingUrl).toBeNull();
    const [{ url, ...instruction }] = transaction.context.instructions;
    expect(instruction).toMatchObject({ encoding: "REDIRECT", type: "BANK" });
    expect(new URL(url as string).searchParams.get("return_url")).toBe(checkoutUrl);
    const { text } = await show(checkoutUrl as string);
    expect(text).toContain("Pay on the provider&#39;s page");
    expect(text).toContain(`href="${String(url).replaceAll("&", "&#38;")}"`);
    expect(await decide(String(url), "approve")).toBe(checkoutUrl);
    const done = await until((json) => json.intent.status === "COMPLETED");
    expect(done.checkoutUrl).toBeUndefined();
    expect((await show(checkoutUrl as string)).text).toContain("Payment complete");
  });

  it("that the customer does not make fails the intent", async () => {
    const { reply, until } = await create("44.28", { autoExecute: true });
    await decide(String(reply.json.transaction.context.instructions[0].url), "reject");
    const failed = await until((json) => json.intent.status === "TRANSACTION_FAILED");
    expect(failed.intent.failureReason).toBe("The customer did not pay.");
  });

  it("has no link when the payment is made on the caller's own site", async () => {
    const { reply } = await create("50.00", { onboardingRedirectUrl: "https://shop.example/" });
    expect(reply.json.checkoutUrl).toBeUndefined();
    const { reply: other } = await create("50.00", { checkoutRedirectUrl: "https://shop.example/" });
    expect(other.json.checkoutUrl).toMatch(/\/onboarding\//);
  });

  it("lives as long as its intent, also when the payment is awaited for days", async () => {
    const { reply, until } = await create("44.28", { autoExecute: true });
    const { intent, checkoutUrl } = await until((json) => json.intent.paymentDueAt !== undefined);
    expect(checkoutUrl).toBe(reply.json.checkoutUrl);
    await world.rows(
      "UPDATE ramp.intents SET created_at = created_at - interval '4 days', expires_at = expires_at - interval '4 days' WHERE id = $1",
      [intent.id],
    );
    expect((await show(checkoutUrl as string)).status).toBe(200);
  });
});

describe("an address of a provider's page", () => {
  const allowed = [
    "https://pay.example",
    "https://pay.example:8443/a/b?c=d&e=%20#f",
    "http://127.0.0.1:8002/x",
    "http://localhost/x",
    "http://[::1]:1/",
  ];
  const refused = [
    "http://pay.example/",
    "javascript:alert(1)",
    "https://user@pay.example/",
    "https://localhost@evil.example/",
    "http://localhost.evil.example/",
    "http://127.0.0.1.evil.example/",
    "https://pay.example/\nx",
    "https://pay.example\\@evil.example/",
    "data:text/html,x",
    "//pay.example/",
    " https://pay.example/",
    "https://",
    `https://pay.example/${"x".repeat(2_000)}`,
    "HTTPS://pay.example/<script>",
  ];
  it.each(allowed)("is used: %s", (url) => expect(isPageAddress(url)).toBe(true));
  it.each(refused)("is refused: %s", (url) => expect(isPageAddress(url)).toBe(false));

  const instruction = (url?: string): Instruction => ({
    encoding: "REDIRECT",
    type: "BANK",
    details: {},
    ...(url !== undefined && { url }),
  });

  it.each([undefined, "javascript:alert(1)", "http://pay.example/"])(
    "that is %s in an instruction is left out, and the intent needs attention",
    async (url) => {
      const setting = await ownCards(world, {
        status: "AWAITING_FUNDS",
        execution: { instructions: [instruction(url)] },
      });
      const { json } = await setting.create();
      expect(json.transaction.context.instructions).toEqual([]);
      const auth = setting.project.basic;
      const read = (): Promise<Reply> => world.call("GET", `/v1/intents/${String(json.intent.id)}`, { auth });
      const { json: seen } = await eventually(read, (reply) => reply.json.attention !== undefined);
      expect(Object.keys(seen.attention as object)).toEqual(["INVALID_INSTRUCTIONS"]);
    },
  );
});
