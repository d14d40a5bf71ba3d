import { Amount, type AmountText } from "../accounts/amount.js";
import type {
  Capabilities,
  Execution,
  ExecutionOrder,
  Onboarding,
  OnboardingOrder,
  ProviderQuote,
  QuoteRequest,
  RefundOrder,
  Submission,
} from "../providers/protocol.js";
import type { Switches } from "./behaviour.js";
import type { SandboxClock } from "./clock.js";
import type { DepositAccount, DepositAccountOrder } from "../providers/deposit-messages.js";
import { type ArrivingDeposit, DepositAccounts } from "./deposit-accounts.js";
import { Executions } from "./executions.js";
import { HeldQuotes } from "./held-quotes.js";
import { Onboardings } from "./onboardings.js";
import { type Profile, quoteFor } from "./profiles.js";
import { FAILURE, ProviderState, type Rejection } from "./provider-state.js";

/** What the path of a request names, and where the provider's own pages are. */
export interface RequestTarget {
  readonly id: string;
  readonly code: string;
  readonly refundId: string;
  /** Of the query. */
  readonly after: string | null;
  readonly pageUrl: (kind: PageKind, id: string) => string;
}

/** Which of the provider's own pages. */
export type PageKind = "onboarding" | "payment";

/** One sandbox provider: a method for each operation, given its message and its path. */
export class SandboxProvider {
  readonly #state: ProviderState;
  readonly #quotes: HeldQuotes;
  readonly #onboardings: Onboardings;
  readonly #executions: Executions;
  readonly #depositAccounts: DepositAccounts;
  #dearerQuotes = 0;

  constructor(profile: Profile, clock: SandboxClock, switches: () => Switches) {
    this.#state = new ProviderState(profile, clock, switches);
    this.#quotes = new HeldQuotes(clock);
    this.#onboardings = new Onboardings(this.#state, this.#quotes);
    this.#executions = new Executions(this.#state, this.#quotes, this.#onboardings);
    this.#depositAccounts = new DepositAccounts(this.#state, this.#onboardings, this.#executions);
  }

  capabilities(): Capabilities {
    return this.#state.profile.capabilities;
  }

  get executed(): readonly string[] {
    return this.#executions.executed;
  }

  switchesFor(srcAmount: AmountText): Switches {
    return this.#state.switchesFor(srcAmount);
  }

  quote(request: QuoteRequest): { readonly quote: ProviderQuote | null } | Rejection {
    const { profile } = this.#state;
    const usual = quoteFor(profile, request);
    const srcAmount = request.srcAmount ?? usual?.srcAmount ?? "0";
    const { quote: kind, holdMs } = this.#state.switchesFor(srcAmount);
    const quote = kind === "dearer" ? quoteFor(this.#dearer(), request) : usual;
    if (kind === "fail") return FAILURE;
    if (quote === null || kind === "none") return { quote: null };
    if (kind === "invalid") return { quote: { ...quote, exchangeRate: "1000" } };
    if (profile.holdMs === null) return { quote };
    return { quote: this.#quotes.hold(quote, request, srcAmount, holdMs ?? profile.holdMs) };
  }

  /** Fees that grow by a cent with each quote, from the beginning again before they eat the amount. */
  #dearer(): Profile {
    const { profile } = this.#state;
    const cents = (this.#dearerQuotes = (this.#dearerQuotes + 1) % 1_000);
    const processing = Amount.of(profile.fees.processing)
      .plus(String(cents / 100))
      .text(2);
    return { ...profile, fees: { ...profile.fees, processing } };
  }

  startOnboarding(order: OnboardingOrder, { pageUrl }: RequestTarget): Onboarding | Rejection {
    return this.#onboardings.start(order, pageUrl("onboarding", order.id));
  }

  onboarding(_message: null, { id }: RequestTarget): Onboarding | Rejection {
    return this.#onboardings.get(id);
  }

  submit(submission: Submission, { id, code }: RequestTarget): Onboarding | Rejection {
    return this.#onboardings.submit(submission, id, code);
  }

  execute(order: ExecutionOrder, { pageUrl }: RequestTarget): Execution | Rejection {
    return this.#executions.start(order, pageUrl("payment", order.id));
  }

  execution(_message: null, { id }: RequestTarget): Execution | Rejection {
    return this.#executions.get(id);
  }

  cancel(_message: null, { id }: RequestTarget): Execution {
    return this.#executions.cancel(id);
  }

  refund(order: RefundOrder, { id }: RequestTarget): Execution | Rejection {
    return this.#executions.refund(order, id);
  }

  cancelRefund(_message: null, { id, refundId }: RequestTarget): Execution | Rejection {
    return this.#executions.cancelRefund(id, refundId);
  }

  openDepositAccount(order: DepositAccountOrder): DepositAccount | Rejection {
    return this.#depositAccounts.open(order);
  }

  depositAccount(_message: null, { id, after }: RequestTarget): DepositAccount | Rejection {
    return this.#depositAccounts.get(id, after);
  }

  closeDepositAccount(_message: null, { id }: RequestTarget): DepositAccount {
    return this.#depositAccounts.close(id);
  }

  /** Money arrives at a deposit account. The id of the payment; null: there is no such account. */
  arrive(deposit: ArrivingDeposit): string | null {
    return this.#depositAccounts.arrive(deposit);
  }

  /** What the customer does on a page of the provider's own. The order's callback address; null: there is no such page. */
  decideOnPage(kind: PageKind, id: string, decision: string): string | null {
    const part = kind === "onboarding" ? this.#onboardings : this.#executions;
    return part.decideOnPage(id, decision)?.callbackUrl ?? null;
  }
}
