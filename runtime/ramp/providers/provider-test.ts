import { randomUUID } from "node:crypto";
import { sendRequest } from "@routewright/runtime/internal/core/http/outbound-http.js";
import { defaultCurrency } from "../database/assets.js";
import { PairTest } from "./pair-test.js";
import type { Capabilities } from "./protocol.js";
import { HttpProvider, type ProviderReply } from "./provider.js";
import { REQUEST_HEADERS, requestSignature, signedLines } from "./signature.js";
import { TestCallbacks } from "./test-callbacks.js";
import { CheckList, isOther, type ProviderCheck } from "./test-checks.js";

export type { ProviderCheck } from "./test-checks.js";

export interface ProviderUnderTest {
  readonly url: string;
  readonly keyId: string;
  readonly secret: string;
}

/**
 * Runs the provider protocol against a provider in its sandbox: real money would move (runtime/ramp/docs/provider-protocol.md).
 * `patienceMs`: how long its orders may take.
 */
export async function testProvider(
  subject: ProviderUnderTest,
  patienceMs?: number,
): Promise<readonly ProviderCheck[]> {
  const checks = new CheckList(patienceMs);
  const callbacks = await TestCallbacks.start(subject.secret);
  try {
    await checks.run(() => new ProtocolRun(subject, checks, callbacks).all());
  } finally {
    await callbacks.stop();
  }
  return checks.checks;
}

class ProtocolRun {
  readonly #provider: HttpProvider;

  constructor(
    readonly subject: ProviderUnderTest,
    readonly checks: CheckList,
    readonly callbacks: TestCallbacks,
  ) {
    this.#provider = new HttpProvider(subject);
  }

  async all(): Promise<void> {
    const { checks, callbacks } = this;
    checks.plan("signatures", "unknown orders", "callbacks", "quotes and orders");
    const reply = await this.#provider.capabilities();
    const capabilities = checks.answer("capabilities", reply, await this.#signedHint(reply));
    const isSandbox = capabilities.sandbox === true;
    checks.need("sandbox", !isSandbox && "capabilities do not say `sandbox: true`: nothing is ordered");
    checks.begin("signatures");
    await this.#signatures();
    checks.begin("unknown orders");
    await this.#unknownOrders();
    checks.need("pairs", capabilities.pairs.length === 0 && "there is no currency pair");
    checks.begin("quotes and orders");
    for (const test of this.#pairTests(capabilities)) await test.all();
    checks.begin("callbacks");
    callbacks.checkAll(checks);
  }

  /** The first pair of each direction. */
  #pairTests(capabilities: Capabilities): readonly PairTest[] {
    const directionOf = (code: string) => defaultCurrency(code).type;
    const { pairs } = capabilities;
    const first = pairs.filter(
      ({ srcCurrencyCode }, at) =>
        pairs.findIndex((pair) => directionOf(pair.srcCurrencyCode) === directionOf(srcCurrencyCode)) === at,
    );
    const { url: callbackUrl } = this.callbacks;
    return first.map((pair) => {
      const prefix = directionOf(pair.srcCurrencyCode) === "CRYPTO" ? "off-ramp: " : "";
      return new PairTest(this.#provider, this.checks, { capabilities, pair, callbackUrl, prefix });
    });
  }

  async #signatures(): Promise<void> {
    const { status } = await this.#capabilities({});
    const isRefused = status === 401 || status === 403;
    this.checks.check("unsigned requests are refused", !isRefused && `status ${String(status)}, not 401`);
    const wrong = new HttpProvider({ ...this.subject, secret: `${this.subject.secret}x` });
    const reply = await wrong.capabilities();
    this.checks.check("a wrong signature is refused", reply.kind === "answer" && "the request was answered");
  }

  /** What a refused signature covered: the integrator compares the lines with their own. */
  async #signedHint(reply: ProviderReply<Capabilities>): Promise<string> {
    if (reply.kind !== "unavailable" || reply.reason !== "status 401") return "";
    const timestamp = String(Math.floor(Date.now() / 1000));
    const { pathname: target } = this.#capabilitiesUrl();
    const signed = { timestamp, method: "GET", target, idempotencyKey: "", body: "" };
    const { status } = await this.#capabilities({
      [REQUEST_HEADERS.timestamp]: timestamp,
      [REQUEST_HEADERS.signature]: requestSignature(this.subject.secret, signed),
    });
    const lines = signedLines(signed).map((line) => `\n        ${JSON.stringify(line)}`);
    return `. A call of key id ${JSON.stringify(this.subject.keyId)} that signs these lines, joined by a line feed, got ${String(status)}:${lines.join("")}`;
  }

  #capabilitiesUrl(): URL {
    return new URL(`${this.subject.url.replace(/\/+$/, "")}/capabilities`);
  }

  /** Requests the capabilities with headers of the signature. */
  async #capabilities(signature: Readonly<Record<string, string>>): Promise<{ readonly status: number }> {
    const reply = await sendRequest({
      url: this.#capabilitiesUrl(),
      method: "GET",
      headers: { [REQUEST_HEADERS.keyId]: this.subject.keyId, ...signature },
      body: "",
      timeoutMs: 8_000,
    });
    return { status: reply.kind === "answered" ? reply.status : 0 };
  }

  async #unknownOrders(): Promise<void> {
    const onboarding = await this.#provider.onboarding(randomUUID());
    this.checks.check("an unknown onboarding is 404 UNKNOWN_ORDER", isOther(onboarding, "unknown"));
    const execution = await this.#provider.execution(randomUUID());
    this.checks.check("an unknown execution is 404 UNKNOWN_ORDER", isOther(execution, "unknown"));
  }
}
