import Big from "big.js";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { parseJson } from "../core/json-schema.js";
import { sendRequest } from "../../http/outbound-http.js";
import { HttpProvider, type ProviderReply, reasonOf } from "./provider.js";
import type { Capabilities, Execution, Movement, Pair } from "./protocol.js";
import { isSignedCallback, REQUEST_HEADERS } from "./signature.js";

export interface ProviderUnderTest {
  readonly url: string;
  readonly keyId: string;
  readonly secret: string;
  /** Address under which the provider reaches this machine; null: the callback check is left out. */
  readonly callbackUrl: string | null;
  /** Port that callbacks are received on. */
  readonly callbackPort: number;
}

/** One check of the provider protocol. */
export interface ProviderCheck {
  readonly check: string;
  readonly ok: boolean;
  /** What was expected and what came. */
  readonly detail: string;
}

/** How long orders of the sandbox may take. */
const PATIENCE_MS = 30_000;
const PAUSE_MS = 250;

/** Runs the provider protocol against a provider in its sandbox: real money would move (runtime/ramp/docs/provider-protocol.md). */
export async function testProvider(subject: ProviderUnderTest): Promise<readonly ProviderCheck[]> {
  const run = new ProtocolRun(subject);
  try {
    await run.all();
  } catch (error) {
    if (!(error instanceof CheckFailed)) throw error;
  } finally {
    run.close();
  }
  return run.checks;
}

/** Later checks depend on the failed one. */
class CheckFailed extends Error {}

class ProtocolRun {
  readonly checks: ProviderCheck[] = [];
  readonly #subject: ProviderUnderTest;
  readonly #provider: HttpProvider;
  readonly #callbacks: string[] = [];
  readonly #server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      const header = (name: string): string => String(request.headers[name] ?? "");
      const headers = {
        "webhook-id": header("webhook-id"),
        "webhook-timestamp": header("webhook-timestamp"),
        "webhook-signature": header("webhook-signature"),
      };
      if (isSignedCallback(this.#subject.secret, headers, body)) this.#callbacks.push(body);
      response.writeHead(200).end();
    });
  });

  constructor(subject: ProviderUnderTest) {
    this.#subject = subject;
    this.#provider = new HttpProvider(subject);
    if (subject.callbackUrl !== null) this.#server.listen(subject.callbackPort);
  }

  close(): void {
    this.#server.close();
  }

  #check(check: string, ok: boolean, detail: string): void {
    this.checks.push({ check, ok, detail: ok ? "ok" : detail });
  }

  /** The answer; what comes after needs it. */
  #require<T>(check: string, reply: ProviderReply<T>): T {
    this.#check(
      check,
      reply.kind === "answer",
      `no valid answer: ${reply.kind === "answer" ? "" : reasonOf(reply)}`,
    );
    if (reply.kind !== "answer") throw new CheckFailed();
    return reply.value;
  }

  async all(): Promise<void> {
    const capabilities = this.#require("capabilities", await this.#provider.capabilities());
    this.#check(
      "sandbox",
      capabilities.sandbox === true,
      "capabilities do not say `sandbox: true`: nothing is ordered",
    );
    if (capabilities.sandbox !== true) throw new CheckFailed();
    await this.#signatures();
    await this.#unknownOrders();
    const [pair] = capabilities.pairs;
    this.#check("pairs", pair !== undefined, "there is no currency pair");
    if (pair === undefined) throw new CheckFailed();
    await this.#quotes(pair);
    await this.#orders(capabilities, pair);
  }

  async #signatures(): Promise<void> {
    const unsigned = await sendRequest({
      url: new URL(`${this.#subject.url.replace(/\/+$/, "")}/capabilities`),
      method: "GET",
      headers: { [REQUEST_HEADERS.keyId]: this.#subject.keyId },
      body: "",
      timeoutMs: 8_000,
    });
    const status = unsigned.kind === "answered" ? unsigned.status : 0;
    this.#check(
      "unsigned requests are refused",
      status === 401 || status === 403,
      `status ${String(status)}, not 401`,
    );
    const wrong = new HttpProvider({ ...this.#subject, secret: `${this.#subject.secret}x` });
    const reply = await wrong.capabilities();
    this.#check("a wrong signature is refused", reply.kind !== "answer", "the request was answered");
  }

  async #unknownOrders(): Promise<void> {
    const onboarding = await this.#provider.onboarding(randomUUID());
    this.#check(
      "an unknown onboarding is 404 UNKNOWN_ORDER",
      onboarding.kind === "unknown",
      describe(onboarding),
    );
    const execution = await this.#provider.execution(randomUUID());
    this.#check(
      "an unknown execution is 404 UNKNOWN_ORDER",
      execution.kind === "unknown",
      describe(execution),
    );
  }

  async #quotes(pair: Pair): Promise<void> {
    const { srcCurrencyCode, destCurrencyCode, rail, countries } = pair;
    const path = { srcCurrencyCode, destCurrencyCode, rail, countryCode: countries[0] ?? null };
    const quote = this.#require("quote", await this.#provider.quote({ ...path, srcAmount: amountOf(pair) }));
    this.#check("a pair of the capabilities has a quote", quote !== null, "the quote is null");
    const none = await this.#provider.quote({
      ...path,
      destCurrencyCode: "NONE_NOWHERE",
      srcAmount: "100.00",
    });
    this.#check(
      "an unknown pair has the quote null",
      none.kind === "answer" && none.value === null,
      `${describe(none)}, not null`,
    );
  }

  async #orders({ refunds, rails }: Capabilities, pair: Pair): Promise<void> {
    const account = rails.find(({ code }) => code === pair.rail);
    const movement = movementOf(pair, account === undefined ? {} : account.properties);
    const intentId = randomUUID();
    const common = {
      customerReference: randomUUID(),
      movement,
      callbackUrl: this.#subject.callbackUrl ?? "http://127.0.0.1:9/",
    };
    const onboarding = JSON.stringify({ id: intentId, wallets: [], ...common });
    const first = this.#require("onboarding", await this.#provider.startOnboarding(intentId, onboarding));
    const repeated = this.#require(
      "a repeated onboarding",
      await this.#provider.startOnboarding(intentId, onboarding),
    );
    this.#check(
      "an onboarding keeps its id",
      first.id === intentId && repeated.id === intentId,
      `${first.id}, ${repeated.id}`,
    );
    await this.#approve(intentId);
    await this.#executions(intentId, common, refunds === true);
    this.#check(
      "callbacks are signed and arrive",
      this.#subject.callbackUrl === null || this.#callbacks.length > 0,
      "no callback with a valid signature came",
    );
  }

  /** Fills in the form of the requirements, as the sandbox's customers do. */
  async #approve(id: string): Promise<void> {
    const { requirements } = this.#require("onboarding look-up", await this.#provider.onboarding(id));
    for (const { code, status, form } of requirements) {
      if (status !== "PENDING" || form === null) continue;
      const fields = { fullName: "Test Customer", dateOfBirth: "1990-01-01", decision: "approve" };
      await this.#provider.submit(id, code, { fields });
    }
    const isDone = await until(async () => {
      const reply = await this.#provider.onboarding(id);
      return (
        reply.kind === "answer" && reply.value.requirements.every(({ status }) => status === "COMPLETED")
      );
    });
    this.#check("the requirements are completed", isDone, `not within ${String(PATIENCE_MS / 1000)} s`);
    if (!isDone) throw new CheckFailed();
  }

  async #executions(
    onboardingId: string,
    common: { readonly movement: Movement; readonly customerReference: string; readonly callbackUrl: string },
    offersRefunds: boolean,
  ): Promise<void> {
    const order = (id: string): string => JSON.stringify({ id, onboardingId, ...common });
    const never = randomUUID();
    const cancelled = this.#require("cancel of an order that never came", await this.#provider.cancel(never));
    this.#check("it is CANCELLED", cancelled.status === "CANCELLED", cancelled.status);
    const late = await this.#provider.execute(never, order(never));
    this.#check(
      "an order that comes after its cancel is not carried out",
      late.kind === "refused" || (late.kind === "answer" && late.value.status === "CANCELLED"),
      describe(late),
    );
    const id = randomUUID();
    const first = this.#require("execution", await this.#provider.execute(id, order(id)));
    const repeated = this.#require("a repeated execution", await this.#provider.execute(id, order(id)));
    this.#check(
      "it is the same",
      first.id === id && repeated.reference === first.reference,
      repeated.reference,
    );
    const other = { ...common, movement: { ...common.movement, srcAmount: "999999.00" } };
    const changed = await this.#provider.execute(id, JSON.stringify({ id, onboardingId, ...other }));
    this.#check("the same id with another amount is refused", changed.kind === "refused", describe(changed));
    let last: Execution = repeated;
    const isPaid = await until(async () => {
      const reply = await this.#provider.execution(id);
      if (reply.kind === "answer") last = reply.value;
      return last.status === "SUCCESS";
    });
    this.#check("the payment is SUCCESS", isPaid, last.status);
    this.#check(
      "it has a receipt with the received amount",
      last.receipt?.amountReceived !== undefined,
      "there is none",
    );
    if (!offersRefunds || !isPaid) return;
    const refund = { id: randomUUID(), amount: common.movement.srcAmount, reason: "test" };
    const refunded = this.#require("refund", await this.#provider.refund(id, refund));
    const again = this.#require("a repeated refund", await this.#provider.refund(id, refund));
    this.#check("it is one refund", again.refunds?.length === 1, JSON.stringify(again.refunds));
    this.#check("a full refund is REFUNDED", refunded.status === "REFUNDED", refunded.status);
  }
}

function describe(reply: ProviderReply<unknown>): string {
  return reply.kind === "answer" ? "it was answered" : reasonOf(reply);
}

/** An amount within the pair's limits of which fees leave something. */
function amountOf({ minSrcAmount, maxSrcAmount }: Pair): string {
  const usual = new Big(minSrcAmount).gt(100) ? new Big(minSrcAmount) : new Big(100);
  return (usual.gt(maxSrcAmount) ? new Big(maxSrcAmount) : usual).toFixed(2);
}

/** A movement of the pair, with example values for the fields of the rail. */
function movementOf(pair: Pair, fields: Readonly<Record<string, unknown>>): Movement {
  const isOnramp = !pair.srcCurrencyCode.includes("_");
  const bank = { countryCode: pair.countries[0] ?? "", rail: pair.rail, ...exampleFields(fields) };
  const wallet = { address: "0x52908400098527886E0F7030069857D2E4169EE7" };
  return {
    type: isOnramp ? "ONRAMP" : "OFFRAMP",
    src: { currencyCode: pair.srcCurrencyCode, details: isOnramp ? bank : wallet },
    dest: { currencyCode: pair.destCurrencyCode, details: isOnramp ? wallet : bank },
    srcAmount: amountOf(pair),
    rail: pair.rail,
  };
}

function exampleFields(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, schema]) => {
      const { examples } = (parseJson(JSON.stringify(schema)) ?? {}) as {
        readonly examples?: readonly unknown[];
      };
      return examples?.[0] === undefined ? [] : [[name, examples[0]]];
    }),
  );
}

async function until(isReached: () => Promise<boolean>): Promise<boolean> {
  for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline; await sleep(PAUSE_MS))
    if (await isReached()) return true;
  return false;
}
