import { Amount, type AmountText } from "../accounts/amount.js";
import { randomUUID } from "node:crypto";
import { defaultCurrency } from "../database/assets.js";
import type { RequestedMovement } from "./check-reply.js";
import { depositAccountChecks } from "./deposit-account-test.js";
import type { Capabilities, Execution, Movement, Pair, ProviderQuote, QuoteRequest } from "./protocol.js";
import type { HttpProvider } from "./provider.js";
import { refundCancelChecks, refundChecks } from "./refund-test.js";
import { checkPayment, offerProblem, requirementsProblem } from "./test-answers.js";
import { type CheckList, type CheckProblem, describe, isOther, notForPrice } from "./test-checks.js";
import { filledForm } from "./form-values.js";
import { movementOf, NAMED } from "./test-orders.js";
import { TRAVEL_RULE } from "./travel-rule.js";

/** What orders of onboarding and execution have in common. */
interface OrderParts {
  readonly movement: Movement;
  readonly customerReference: string;
  readonly callbackUrl: string;
}

/** A pair of a provider under test. */
export interface TestedPair {
  readonly capabilities: Capabilities;
  readonly pair: Pair;
  readonly callbackUrl: string;
  /** Before the names of its checks. */
  readonly prefix: string;
}

/** Requests quotes of a pair and orders a payment of it. */
export class PairTest {
  readonly #provider: HttpProvider;
  readonly #checks: CheckList;
  readonly #tested: TestedPair;
  readonly #movement: Movement;
  /** The order as answers are checked against it. */
  readonly #requested: RequestedMovement;
  readonly #path: Omit<QuoteRequest, "srcAmount" | "destAmount">;

  constructor(provider: HttpProvider, checks: CheckList, tested: TestedPair) {
    const { capabilities, pair, prefix } = tested;
    const { srcCurrencyCode, destCurrencyCode, rail, countries } = pair;
    const [src, dest] = [defaultCurrency(srcCurrencyCode), defaultCurrency(destCurrencyCode)];
    const described = capabilities.rails.find(({ code }) => code === rail);
    this.#provider = provider;
    this.#checks = checks;
    this.#tested = tested;
    this.#movement = movementOf(pair, src, described);
    this.#requested = { src, dest, srcAmount: this.#movement.srcAmount, rails: [rail] };
    this.#path = { srcCurrencyCode, destCurrencyCode, rail, countryCode: countries[0] ?? null };
    const { depositAccounts, refunds } = capabilities;
    const parts = [
      ...["quotes", "onboarding"],
      ...(depositAccounts === true ? ["deposit accounts"] : []),
      "payment",
      ...(refunds === true ? ["refunds"] : []),
    ];
    checks.plan(...parts.map((part) => prefix + part));
  }

  #begin(part: string): void {
    this.#checks.begin(this.#tested.prefix + part, this.#tested.prefix);
  }

  async all(): Promise<void> {
    this.#begin("quotes");
    await this.#quotes();
    this.#begin("onboarding");
    const { depositAccounts, refunds, refundCancels } = this.#tested.capabilities;
    this.#checks.need("its receiving account can be filled in", this.#missingFields());
    const price = await this.#orderPrice();
    const { quoteId } = price;
    const common = {
      customerReference: randomUUID(),
      movement: quoteId === undefined ? this.#movement : { ...this.#movement, quoteId },
      callbackUrl: this.#tested.callbackUrl,
    };
    const onboardingId = await this.#onboarding(common);
    if (quoteId !== undefined) await this.#otherPrices(common);
    if (depositAccounts === true) {
      this.#begin("deposit accounts");
      const subject = { ...common, onboardingId, movement: this.#movement };
      for (const check of await depositAccountChecks(this.#provider, subject)) this.#checks.check(...check);
    }
    this.#begin("payment");
    const paid = await this.#payment(onboardingId, common, price);
    if (refunds !== true) return;
    this.#checks.need("a payment is there to refund", paid === null && "there is none");
    this.#begin("refunds");
    const order = { id: paid ?? "", movement: this.#requested };
    if (refundCancels === true) await refundCancelChecks(this.#provider, this.#checks, order);
    await refundChecks(this.#provider, this.#checks, order);
  }

  /** Money is sent to nobody without the fields that the rail requires. */
  #missingFields(): CheckProblem {
    const { type, dest } = this.#movement;
    const rail = this.#tested.capabilities.rails.find(({ code }) => code === this.#movement.rail);
    const required = type === "OFFRAMP" ? (rail?.required ?? []) : [];
    const missing = required.filter((field) => !Object.hasOwn(dest.details, field));
    return missing.length > 0 && `give \`examples\` to the fields of the rail: ${missing.join(", ")}`;
  }

  async #quotes(): Promise<void> {
    const { srcAmount } = this.#movement;
    const asked = await this.#provider.quote({ ...this.#path, srcAmount });
    const quote = this.#checks.answer("quote", asked);
    this.#checks.check("a pair of the capabilities has a quote", quote === null && "the quote is null");
    if (quote !== null) this.#checks.check("its amounts fit", offerProblem(quote, this.#requested));
    if (this.#tested.capabilities.destAmounts === true && quote !== null)
      await this.#destAmount(quote.destAmount);
    const unknown = { ...this.#path, destCurrencyCode: "NONE_NOWHERE", srcAmount: "100.00" };
    const none = await this.#provider.quote(unknown);
    const isNull = none.kind === "answer" && none.value === null;
    this.#checks.check("an unknown pair has the quote null", !isNull && `${describe(none)}, not null`);
  }

  /** What the destination is to receive for some amount is to cost an amount, and to be received to the last digit. */
  async #destAmount(destAmount: AmountText): Promise<void> {
    const reply = await this.#provider.quote({ ...this.#path, destAmount });
    const quote = this.#checks.answer("quote for destAmount", reply);
    const isMet = quote !== null && Amount.of(quote.destAmount).equals(destAmount);
    this.#checks.check(
      "it has the destAmount that was requested",
      !isMet && `${quote?.destAmount ?? "null"}, not ${destAmount}`,
    );
    const isPriced = quote?.srcAmount !== undefined && Amount.of(quote.srcAmount).isPositive();
    this.#checks.check("it says what the source sends (srcAmount)", !isPriced && "there is none");
    this.#checks.check("its amounts fit", offerProblem(quote, this.#requested, destAmount));
  }

  /** The quote that is ordered at; one with an id is held. */
  async #orderPrice(): Promise<ProviderQuote> {
    const { srcAmount } = this.#movement;
    const quote = this.#checks.answer(
      "quote of an order",
      await this.#provider.quote({ ...this.#path, srcAmount }),
    );
    if (quote === null) return this.#checks.fail("it is a price", "the quote is null");
    const { quoteId, expiresAt, hasIndicativePrice } = quote;
    if (quoteId === undefined) return quote;
    const isHeld = !hasIndicativePrice && Date.parse(expiresAt ?? "") > Date.now();
    const said = `hasIndicativePrice is ${String(hasIndicativePrice)}, expiresAt ${expiresAt ?? "missing"}`;
    this.#checks.check("a quote with a quoteId is held until its expiresAt", !isHeld && said);
    return quote;
  }

  /** The id of a completed onboarding. */
  async #onboarding(common: OrderParts): Promise<string> {
    const id = randomUUID();
    const order = JSON.stringify({ id, wallets: [], ...common });
    const first = this.#checks.answer("onboarding", await this.#provider.startOnboarding(id, order));
    const again = await this.#provider.startOnboarding(id, order);
    const repeated = this.#checks.answer("a repeated onboarding", again);
    const isKept = first.id === id && repeated.id === id;
    this.#checks.check("an onboarding keeps its id", !isKept && `${first.id}, ${repeated.id}`);
    const codes = first.requirements.map(({ code }) => code);
    const doubled = codes.find((code, at) => codes.indexOf(code) < at);
    this.#checks.check("its list has each check once", doubled !== undefined && `${doubled} is listed twice`);
    const { priceExpiresAt } = first;
    const isOver = priceExpiresAt !== undefined && Date.parse(priceExpiresAt) <= Date.now();
    this.#checks.check("an accepted price is held", isOver && `it has ended at ${priceExpiresAt}`);
    await this.#approve(id);
    return id;
  }

  /** Orders at quotes that are not held: refused without a trace, and taken at a newer quote. */
  async #otherPrices(common: OrderParts): Promise<void> {
    const unknown = { ...common, movement: { ...common.movement, quoteId: `none-${randomUUID()}` } };
    const [onboardingId, id] = [randomUUID(), randomUUID()];
    const onboarding = (parts: OrderParts): string =>
      JSON.stringify({ id: onboardingId, wallets: [], ...parts });
    const execution = (parts: OrderParts): string => JSON.stringify({ id, onboardingId, ...parts });
    const early = await this.#provider.startOnboarding(onboardingId, onboarding(unknown));
    this.#checks.check(
      "an onboarding at a quote that is not held is refused for its price",
      notForPrice(early),
    );
    const again = await this.#provider.startOnboarding(onboardingId, onboarding(common), 2);
    this.#checks.answer("the same onboarding at one that is", again);
    await this.#approve(onboardingId);
    const late = await this.#provider.execute(id, execution(unknown));
    this.#checks.check(
      "an execution at a quote that is not held is refused for its price",
      notForPrice(late),
    );
    const found = await this.#provider.execution(id);
    this.#checks.check("it leaves no trace: 404 UNKNOWN_ORDER", isOther(found, "unknown"));
    const { quoteId = "" } = await this.#orderPrice();
    const newer = { ...common, movement: { ...common.movement, quoteId } };
    this.#checks.answer(
      "it is taken at a newer quote",
      await this.#provider.execute(id, execution(newer), 2),
    );
  }

  /** Fills in the forms of the requirements, each by its own schema. */
  async #approve(id: string): Promise<void> {
    const { requirements } = this.#checks.answer("onboarding look-up", await this.#provider.onboarding(id));
    for (const { code, status, form } of requirements) {
      if (status !== "PENDING" || (form === null && code !== TRAVEL_RULE)) continue;
      const { fields, missing } = code === TRAVEL_RULE || form === null ? NAMED : filledForm(form);
      const unknown = `no value is known for ${missing.join(", ")}: give \`examples\` to the field`;
      this.#checks.need(`the form of ${code} can be filled in`, missing.length > 0 && unknown);
      const reply = await this.#provider.submit(id, code, { fields });
      const sent = `sent ${JSON.stringify(fields)}`;
      const refused = reply.kind !== "answer" && `${describe(reply)}; ${sent}`;
      this.#checks.need(`the form of ${code} is taken`, refused, sent);
    }
    const open = await this.#checks.until(async () =>
      requirementsProblem(await this.#provider.onboarding(id)),
    );
    const pages = requirements.flatMap(({ url }) => (url === undefined ? [] : [`; meet it at ${url}`]));
    const problem = `not within ${String(this.#checks.patienceMs / 1000)} s: ${String(open)}${pages.join("")}`;
    this.#checks.need("the requirements are completed", open !== false && problem);
  }

  /** The id of the paid execution; null when it is not paid. */
  async #payment(onboardingId: string, common: OrderParts, price: ProviderQuote): Promise<string | null> {
    const order = (id: string, movement = common.movement): string =>
      JSON.stringify({ id, onboardingId, ...common, movement });
    await this.#cancelled(order);
    const id = randomUUID();
    const copies = [this.#provider.execute(id, order(id)), this.#provider.execute(id, order(id))] as const;
    const [one, copy] = await Promise.all(copies);
    const first = this.#checks.answer("execution", one);
    const isOne = copy.kind !== "answer" || copy.value.reference === first.reference;
    this.#checks.check("two copies at once are one order", !isOne && "they have two references");
    const repeated = this.#checks.answer("a repeated execution", await this.#provider.execute(id, order(id)));
    const isSame = first.id === id && repeated.reference === first.reference;
    this.#checks.check("it is the same", !isSame && repeated.reference);
    const other = { ...common.movement, srcAmount: Amount.of(common.movement.srcAmount).plus("1").text() };
    const changed = await this.#provider.execute(id, order(id, other));
    this.#checks.check("the same id with another amount is refused", isOther(changed, "refused"));
    const answers = [first, repeated];
    const last = await this.#settled(id, answers);
    checkPayment(this.#checks, answers, this.#requested, price);
    return last.status === "SUCCESS" ? id : null;
  }

  /** An order that is cancelled before it comes. */
  async #cancelled(order: (id: string) => string): Promise<void> {
    const never = randomUUID();
    const reply = await this.#provider.cancel(never);
    const cancelled = this.#checks.answer("cancel of an order that never came", reply);
    this.#checks.check("it is CANCELLED", cancelled.status !== "CANCELLED" && cancelled.status);
    const late = await this.#provider.execute(never, order(never));
    const isCarriedOut = late.kind !== "answer" || late.value.status !== "CANCELLED";
    this.#checks.check(
      "an order that comes after its cancel is not carried out",
      isCarriedOut && isOther(late, "refused"),
    );
  }

  /** Looks the payment up until it has ended well. */
  async #settled(id: string, answers: Execution[]): Promise<Execution> {
    const unpaid = await this.#checks.until(async () => {
      const reply = await this.#provider.execution(id);
      if (reply.kind === "answer") answers.push(reply.value);
      const status = String(answers.at(-1)?.status);
      if (reply.kind !== "answer") return `${status}; the last look-up: ${describe(reply)}`;
      return status !== "SUCCESS" && status;
    });
    const last = answers.at(-1) as Execution;
    this.#checks.check("the payment is SUCCESS", unpaid);
    const isReceived = last.receipt?.amountReceived !== undefined;
    this.#checks.check("it has a receipt with the received amount", !isReceived && "there is none");
    return last;
  }
}
