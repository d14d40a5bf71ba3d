/** The providers of templates/provider, each a process of its own (runtime/ramp/docs/provider-protocol.md, A whole provider). */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { connectProvider } from "../../../runtime/ramp/operator/integrations.js";
import { HttpProvider } from "../../../runtime/ramp/providers/provider.js";
import { FIELD_PREFIX } from "../../../runtime/ramp/hosted-pages/requirement-form.js";
import { atEnd } from "../../support/at-end.js";
import { needs } from "../../support/needs.js";
import { stopOf } from "../../support/processes.js";
import { routewright } from "../support/command-line.js";
import { balancesOf, ended, open } from "../support/deposits.js";
import { eventually, made, newCustomer, onramp, ownWorld, reached } from "../support/world.js";

const world = await ownWorld();

const ENVIRONMENT = { ...process.env, KEY_ID: "key", PORT: "0" };

/** Its callbacks are signed with the bytes that it encodes, its requests with the text. */
const ENCODED_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

async function start(file: string, secret = "secret"): Promise<string> {
  const path = fileURLToPath(new URL(`../../../templates/provider/${file}`, import.meta.url));
  const [command, options] = file.endsWith(".py")
    ? ["python3", [path]]
    : [process.execPath, ["--import", "tsx", path]];
  const child = spawn(command, options, {
    env: { ...ENVIRONMENT, SECRET: secret },
    stdio: ["ignore", "pipe", "inherit"],
  });
  atEnd(stopOf(child));
  return new Promise((resolve) => createInterface({ input: child.stdout }).once("line", resolve));
}

describe.skipIf(!needs("python3")).each(["provider.ts", "provider.py"])("the template %s", (file) => {
  it.each(["secret", ENCODED_SECRET])("passes the protocol's test with the secret %s", async (secret) => {
    const url = await start(file, secret);
    const { exit, out, error } = await routewright(
      ...["provider", "test", "--url", url, "--key-id", "key", "--secret", secret],
    );
    expect(out, error).not.toContain("FAIL");
    expect(out).toContain("a deposit account is opened");
    expect(out).toContain("a full refund is REFUNDED");
    expect(exit).toBe(0);
  });

  it("refuses an unknown check, a payment before the checks, and another movement under a taken id", async () => {
    const provider = new HttpProvider({ url: await start(file), keyId: "key", secret: "secret" });
    const order = (id: string, srcAmount = "100.00") =>
      JSON.stringify({ id, onboardingId: "1", movement: { srcAmount }, callbackUrl: "http://127.0.0.1:9" });
    expect(await provider.startOnboarding("1", order("1"))).toMatchObject({ kind: "answer" });
    const refusals = [
      await provider.startOnboarding("1", order("1", "200.00")),
      await provider.submit("1", "ADDRESS", { fields: {} }),
      await provider.execute("2", order("2")),
    ];
    const codes = ["OTHER_ORDER", "UNKNOWN_CHECK", "NOT_ONBOARDED"];
    expect(refusals).toMatchObject(codes.map((code) => ({ kind: "refused", code })));
    expect(await provider.execution("2")).toEqual({ kind: "unknown" });
    await provider.submit("1", "KYC", { fields: { fullName: "Ada" } });
    expect(await provider.execute("2", order("2"))).toMatchObject({ value: { status: "AWAITING_FUNDS" } });
    expect(await provider.execute("2", order("2", "200.00"))).toMatchObject({ code: "OTHER_ORDER" });
  });

  it("takes an order of the same movement at another quote for the same, and refuses a refused refund for good", async () => {
    const provider = new HttpProvider({ url: await start(file), keyId: "key", secret: "secret" });
    const order = (id: string, quoteId?: string) => {
      const movement = { ...(quoteId && { quoteId }), srcAmount: "100.00" };
      return JSON.stringify({ id, onboardingId: "1", movement, callbackUrl: "http://127.0.0.1:9" });
    };
    expect(await provider.startOnboarding("1", order("1"))).toMatchObject({ kind: "answer" });
    expect(await provider.startOnboarding("1", order("1", "newer"), 2)).toMatchObject({ kind: "answer" });
    await provider.submit("1", "KYC", { fields: { fullName: "Ada" } });
    expect(await provider.execute("2", order("2"))).toMatchObject({ kind: "answer" });
    expect(await provider.execute("2", order("2", "newer"), 2)).toMatchObject({ kind: "answer" });
    const refund = { id: "3", amount: "10.00", reason: "returned" };
    expect(await provider.refund("2", refund)).toMatchObject({ code: "NOT_REFUNDABLE" });
    await eventually(
      () => provider.execution("2"),
      (reply) => reply.kind === "answer" && reply.value.status === "SUCCESS",
    );
    expect(await provider.refund("2", refund)).toMatchObject({ code: "NOT_REFUNDABLE" });
    expect(await provider.refund("2", { ...refund, id: "4" })).toMatchObject({ kind: "answer" });
  });

  it("sells through the ramp: a form on the hosted page, a payment, a callback and a refund", async () => {
    const { project, auth, id } = await paid(file);
    const refund = { reason: "returned" };
    await world.call("POST", `/v1/intents/${id}/refund`, { auth: project.basic, body: refund });
    await eventually(
      () => world.call("GET", `/v1/intent/${id}/transaction`, { auth }),
      ({ json }) => json.status === "REFUNDED",
    );
    const { json } = await world.call("GET", `/v1/intents/${id}`, { auth: project.basic });
    expect(json).not.toHaveProperty("attention");
  });

  it("gives deposit accounts: what arrives is delivered, and goes back once the account is closed", async () => {
    const { project, auth } = await paid(file);
    const [delivered, closed] = [await open(world, auth), await open(world, auth)];
    expect([delivered.json.status, closed.json.status], delivered.text).toEqual(["ACTIVE", "ACTIVE"]);
    const close = `/v1/customers/deposit-accounts/${String(closed.json.id)}/close`;
    expect((await world.call("POST", close, { auth, body: {} })).json.status).toBe("CLOSED");
    const [served] = await ended(world, { project }, delivered.json.id, 1);
    expect(served.intent).toMatchObject({ status: "COMPLETED", price: { destAmount: "99.000000" } });
    expect(served).not.toHaveProperty("attention");
    const [returned] = await ended(world, { project }, closed.json.id, 1);
    expect(returned.intent).toMatchObject({
      status: "TRANSACTION_FAILED",
      deposit: { returnReason: "ACCOUNT_CLOSED" },
    });
    expect(returned).not.toHaveProperty("attention");
    expect(await balancesOf(world, closed.json.id)).toEqual([]);
  });
});

/** A customer who has paid, at the provider of a template. */
async function paid(file: string) {
  const url = await start(file);
  const project = await world.project({ providers: [] });
  const connection = { provider: "example", url, keyId: "key", secret: "secret" };
  made(await connectProvider(world.database, world.vault, project.id, connection));
  const auth = await newCustomer(world, project);
  const src = { currencyCode: "USD", details: { countryCode: "US", rail: "ACH" } };
  const body = onramp({ src, autoExecute: true });
  const created = await world.call("POST", "/v1/intent", { auth, body });
  expect(created.status, created.text).toBe(201);
  expect(created.json.intent.status).toBe("COMPLIANCE_IN_PROGRESS");
  const form = { action: "submit", requirement: "KYC", [`${FIELD_PREFIX}fullName`]: "Ada" };
  const page = `${world.url}${new URL(String(created.json.onboardingUrl)).pathname}`;
  const submitted = await fetch(page, {
    method: "POST",
    body: new URLSearchParams(form),
    redirect: "manual",
  });
  expect(submitted.status).toBe(303);
  const id = String(created.json.intent.id);
  await reached(world, `/v1/intent/${id}`, { auth }, "COMPLETED");
  return { project, auth, id };
}
