import Big from "big.js";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { sendRequest } from "@routewright/runtime/internal/core/http/outbound-http.js";
import { HttpProvider, type ProviderReply, reasonOf } from "./provider.js";
import type { Capabilities, Execution, Movement, Pair, QuoteRequest, Refund } from "./protocol.js";
import { refusalOf } from "./refusal-reasons.js";
import { depositAccountChecks } from "./deposit-account-test.js";
import { amountOf, fieldsFor, movementOf } from "./test-orders.js";
import { TRAVEL_RULE } from "./travel-rule.js";
import { REQUEST_HEADERS } from "./signature.js";

export interface ProviderUnderTest {
  readonly url: string;
  readonly keyId: string;
  readonly secret: string;
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
  }
  return run.checks;
}

/** Later checks depend on the failed one. */
class CheckFailed extends Error {}

class ProtocolRun {
  readonly checks: ProviderCheck[] = [];
  readonly #subject: ProviderUnderTest;
  readonly #provider: HttpProvider;

  constructor(subject: ProviderUnderTest) {
    this.#subject = subject;
    this.#provider = new HttpProvider(subject);
  }

  /** @param problem what was expected and what came; false: the check passes */
  #check(check: string, problem: string | false): void {
    this.checks.push({ check, ok: problem === false, detail: problem || "ok" });
  }

  /** The answer; what comes after needs it. */
  #require<T>(check: string, reply: ProviderReply<T>): T {
    const isAnswer = reply.kind === "answer";
    this.#check(check, !isAnswer && `no valid answer: ${reasonOf(reply)}`);
    if (!isAnswer) throw new CheckFailed();
    return reply.value;
  }

  async all(): Promise<void> {
    const capabilities = this.#require("capabilities", await this.#provider.capabilities());
    const isSandbox = capabilities.sandbox === true;
    this.#check("sandbox", !isSandbox && "capabilities do not say `sandbox: true`: nothing is ordered");
    if (!isSandbox) throw new CheckFailed();
    await this.#signatures();
    await this.#unknownOrders();
    const [pair] = capabilities.pairs;
    this.#check("pairs", !pair && "there is no currency pair");
    if (pair === undefined) throw new CheckFailed();
    await this.#quotes(capabilities, pair);
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
    const isRefused = status === 401 || status === 403;
    this.#check("unsigned requests are refused", !isRefused && `status ${String(status)}, not 401`);
    const wrong = new HttpProvider({ ...this.#subject, secret: `${this.#subject.secret}x` });
    const reply = await wrong.capabilities();
    this.#check("a wrong signature is refused", reply.kind === "answer" && "the request was answered");
  }

  async #unknownOrders(): Promise<void> {
    const onboarding = await this.#provider.onboarding(randomUUID());
    this.#check("an unknown onboarding is 404 UNKNOWN_ORDER", isOther(onboarding, "unknown"));
    const execution = await this.#provider.execution(randomUUID());
    this.#check("an unknown execution is 404 UNKNOWN_ORDER", isOther(execution, "unknown"));
  }

  async #quotes({ destAmounts }: Capabilities, pair: Pair): Promise<void> {
    const { srcCurrencyCode, destCurrencyCode, rail, countries } = pair;
    const path = { srcCurrencyCode, destCurrencyCode, rail, countryCode: countries[0] ?? null };
    const quote = this.#require("quote", await this.#provider.quote({ ...path, srcAmount: amountOf(pair) }));
    this.#check("a pair of the capabilities has a quote", quote === null && "the quote is null");
    if (destAmounts === true && quote !== null) await this.#destAmount(path, quote.destAmount);
    const unknown = { ...path, destCurrencyCode: "NONE_NOWHERE", srcAmount: "100.00" };
    const none = await this.#provider.quote(unknown);
    const isNull = none.kind === "answer" && none.value === null;
    this.#check("an unknown pair has the quote null", !isNull && `${describe(none)}, not null`);
  }

  /** What the destination is to receive for some amount is to cost an amount, and to be received to the last digit. */
  async #destAmount(path: Omit<QuoteRequest, "srcAmount" | "destAmount">, destAmount: string): Promise<void> {
    const reply = await this.#provider.quote({ ...path, destAmount });
    const quote = this.#require("quote for destAmount", reply);
    const isMet = quote !== null && new Big(quote.destAmount).eq(destAmount);
    this.#check(
      "it has the destAmount that was requested",
      !isMet && `${quote?.destAmount ?? "null"}, not ${destAmount}`,
    );
    const isPriced = quote?.srcAmount !== undefined && new Big(quote.srcAmount).gt(0);
    this.#check("it says what the source sends (srcAmount)", !isPriced && "there is none");
  }

  async #orders({ refunds, refundCancels, depositAccounts, rails }: Capabilities, pair: Pair): Promise<void> {
    const account = rails.find(({ code }) => code === pair.rail);
    const intentId = randomUUID();
    const usual = movementOf(pair, account === undefined ? {} : account.properties);
    const quoteId = await this.#heldQuote(pair);
    const common = {
      customerReference: randomUUID(),
      movement: quoteId === undefined ? usual : { ...usual, quoteId },
      callbackUrl: "http://127.0.0.1:9/",
    };
    const order = JSON.stringify({ id: intentId, wallets: [], ...common });
    const first = this.#require("onboarding", await this.#provider.startOnboarding(intentId, order));
    const again = await this.#provider.startOnboarding(intentId, order);
    const repeated = this.#require("a repeated onboarding", again);
    const isKept = first.id === intentId && repeated.id === intentId;
    this.#check("an onboarding keeps its id", !isKept && `${first.id}, ${repeated.id}`);
    const codes = first.requirements.map(({ code }) => code);
    const doubled = codes.find((code, at) => codes.indexOf(code) < at);
    this.#check("its list has each check once", doubled !== undefined && `${doubled} is listed twice`);
    const { priceExpiresAt } = first;
    const isOver = priceExpiresAt !== undefined && Date.parse(priceExpiresAt) <= Date.now();
    this.#check("an accepted price is held", isOver && `it has ended at ${priceExpiresAt}`);
    await this.#approve(intentId);
    if (quoteId !== undefined) await this.#otherPrices(pair, common);
    if (depositAccounts === true) {
      const subject = { ...common, onboardingId: intentId, movement: usual };
      for (const check of await depositAccountChecks(this.#provider, subject)) this.#check(...check);
    }
    const paid = await this.#executions(intentId, common);
    if (refunds === true && paid !== null)
      await this.#refund(paid, common.movement.srcAmount, refundCancels === true);
  }

  /** The quote of a price that the provider holds; undefined: it holds none. */
  async #heldQuote(pair: Pair): Promise<string | undefined> {
    const { srcCurrencyCode, destCurrencyCode, rail, countries } = pair;
    const path = { srcCurrencyCode, destCurrencyCode, rail, countryCode: countries[0] ?? null };
    const reply = await this.#provider.quote({ ...path, srcAmount: amountOf(pair) });
    const { quoteId, expiresAt, hasIndicativePrice } = this.#require("quote of an order", reply) ?? {
      hasIndicativePrice: true,
    };
    if (quoteId === undefined) return undefined;
    const isHeld = !hasIndicativePrice && Date.parse(expiresAt ?? "") > Date.now();
    const said = `hasIndicativePrice is ${String(hasIndicativePrice)}, expiresAt ${expiresAt ?? "missing"}`;
    this.#check("a quote with a quoteId is held until its expiresAt", !isHeld && said);
    return quoteId;
  }

  /** Orders at quotes that are not held: refused without a trace, and taken at a newer quote. */
  async #otherPrices(pair: Pair, common: OrderParts): Promise<void> {
    const unknown = { ...common, movement: { ...common.movement, quoteId: `none-${randomUUID()}` } };
    const [onboardingId, id] = [randomUUID(), randomUUID()];
    const onboarding = (parts: OrderParts): string =>
      JSON.stringify({ id: onboardingId, wallets: [], ...parts });
    const execution = (parts: OrderParts): string => JSON.stringify({ id, onboardingId, ...parts });
    const early = await this.#provider.startOnboarding(onboardingId, onboarding(unknown));
    this.#check("an onboarding at a quote that is not held is refused for its price", notForPrice(early));
    const again = await this.#provider.startOnboarding(onboardingId, onboarding(common), 2);
    this.#require("the same onboarding at one that is", again);
    await this.#approve(onboardingId);
    const late = await this.#provider.execute(id, execution(unknown));
    this.#check("an execution at a quote that is not held is refused for its price", notForPrice(late));
    const found = await this.#provider.execution(id);
    this.#check("it leaves no trace: 404 UNKNOWN_ORDER", isOther(found, "unknown"));
    const quoteId = (await this.#heldQuote(pair)) ?? "";
    const newer = { ...common, movement: { ...common.movement, quoteId } };
    this.#require("it is taken at a newer quote", await this.#provider.execute(id, execution(newer), 2));
  }

  /** Fills in the form of the requirements, as the sandbox's customers do. */
  async #approve(id: string): Promise<void> {
    const { requirements } = this.#require("onboarding look-up", await this.#provider.onboarding(id));
    for (const { code, status, form } of requirements) {
      if (status !== "PENDING" || (form === null && code !== TRAVEL_RULE)) continue;
      await this.#provider.submit(id, code, { fields: fieldsFor(code) });
    }
    const isDone = await until(async () => {
      const reply = await this.#provider.onboarding(id);
      if (reply.kind !== "answer") return false;
      const { requirements: listed, complete = true } = reply.value;
      return complete && listed.every(({ status }) => status === "COMPLETED");
    });
    const pages = requirements.flatMap(({ url }) => (url === undefined ? [] : [`; meet it at ${url}`]));
    const problem = `not within ${String(PATIENCE_MS / 1000)} s${pages.join("")}`;
    this.#check("the requirements are completed", !isDone && problem);
    if (!isDone) throw new CheckFailed();
  }

  /** The id of the paid execution; null when it is not paid. */
  async #executions(onboardingId: string, common: OrderParts): Promise<string | null> {
    const order = (id: string, movement = common.movement): string =>
      JSON.stringify({ id, onboardingId, ...common, movement });
    const never = randomUUID();
    const cancelled = this.#require("cancel of an order that never came", await this.#provider.cancel(never));
    this.#check("it is CANCELLED", cancelled.status !== "CANCELLED" && cancelled.status);
    const late = await this.#provider.execute(never, order(never));
    const isCarriedOut = late.kind !== "answer" || late.value.status !== "CANCELLED";
    this.#check(
      "an order that comes after its cancel is not carried out",
      isCarriedOut && isOther(late, "refused"),
    );
    const id = randomUUID();
    const copies = [this.#provider.execute(id, order(id)), this.#provider.execute(id, order(id))] as const;
    const [one, copy] = await Promise.all(copies);
    const first = this.#require("execution", one);
    const isOne = copy.kind !== "answer" || copy.value.reference === first.reference;
    this.#check("two copies at once are one order", !isOne && "they have two references");
    const repeated = this.#require("a repeated execution", await this.#provider.execute(id, order(id)));
    const isSame = first.id === id && repeated.reference === first.reference;
    this.#check("it is the same", !isSame && repeated.reference);
    const changed = await this.#provider.execute(
      id,
      order(id, { ...common.movement, srcAmount: "999999.00" }),
    );
    this.#check("the same id with another amount is refused", isOther(changed, "refused"));
    let last: Execution = repeated;
    const isPaid = await until(async () => {
      const reply = await this.#provider.execution(id);
      if (reply.kind === "answer") last = reply.value;
      return last.status === "SUCCESS";
    });
    this.#check("the payment is SUCCESS", !isPaid && last.status);
    const isReceived = last.receipt?.amountReceived !== undefined;
    this.#check("it has a receipt with the received amount", !isReceived && "there is none");
    return isPaid ? id : null;
  }

  /** A refund may be PENDING, or not listed, at first. */
  async #refund(id: string, amount: string, isCancelOffered: boolean): Promise<void> {
    if (isCancelOffered) await this.#refundCancel(id, amount);
    const refund = { id: randomUUID(), amount, reason: "test" };
    this.#require("refund", await this.#provider.refund(id, refund));
    let last = this.#require("a repeated refund", await this.#provider.refund(id, refund));
    const isDone = await until(async () => {
      const reply = await this.#provider.execution(id);
      if (reply.kind === "answer") last = reply.value;
      return last.status === "REFUNDED";
    });
    this.#check("a full refund is REFUNDED", !isDone && last.status);
    const listed = (last.refunds ?? []).filter(({ status = "SUCCEEDED" }) => status === "SUCCEEDED");
    this.#check("it is one refund", listed.length !== 1 && JSON.stringify(last.refunds ?? []));
    const isNamed = listed.some((item) => item.id === refund.id || item.orderId === refund.id);
    this.#check("it names the id of its order (id or orderId)", !isNamed && JSON.stringify(listed));
  }

  async #refundCancel(id: string, amount: string): Promise<void> {
    const never = { id: randomUUID(), amount, reason: "test" };
    this.#require("cancel of a refund that never came", await this.#provider.cancelRefund(id, never.id));
    const late = await this.#provider.refund(id, never);
    const isMade =
      late.kind !== "refused" && !(late.kind === "answer" && (late.value.refunds ?? []).every(isCancelled));
    this.#check("a refund that comes after its cancel is not made", isMade && describe(late));
  }
}

/** What orders of onboarding and execution have in common. */
interface OrderParts {
  readonly movement: Movement;
  readonly customerReference: string;
  readonly callbackUrl: string;
}

function notForPrice(reply: ProviderReply<unknown>): string | false {
  if (reply.kind !== "refused") return describe(reply);
  const { reason } = refusalOf(reply);
  return reason !== "PRICE" && `the reason is ${reason}`;
}

function isCancelled({ status }: Refund): boolean {
  return status === "CANCELLED";
}

function isOther(reply: ProviderReply<unknown>, expected: ProviderReply<unknown>["kind"]): string | false {
  return reply.kind !== expected && describe(reply);
}

function describe(reply: ProviderReply<unknown>): string {
  return reply.kind === "answer" ? "it was answered" : reasonOf(reply);
}

async function until(isReached: () => Promise<boolean>): Promise<boolean> {
  for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline; await sleep(PAUSE_MS))
    if (await isReached()) return true;
  return false;
}
