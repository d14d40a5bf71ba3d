/** A deposit account of the simulation's customer, what arrives there, and what must be true of it. */
import { depositIntentIdOf, newId } from "../../../runtime/ramp/database/id.js";
import {
  insertDepositAccount,
  lockDepositAccount,
  readDepositAccount,
  requestAccountPoll,
  requestClose,
  type StoredDepositAccount,
} from "../../../runtime/ramp/intents/deposit-account.js";
import { readIntent } from "../../../runtime/ramp/intents/intent-rows.js";
import type { Intent } from "../../../runtime/ramp/intents/intent.js";
import { total } from "../../../runtime/ramp/intents/journal.js";
import type { IntentContext } from "../../../runtime/ramp/intents/lease.js";
import { processDepositAccount } from "../../../runtime/ramp/intents/process-deposit-account.js";
import { processIfFree } from "../../../runtime/ramp/intents/process-intent.js";
import { PERSON } from "./price-acts.js";
import type { Random } from "./random.js";
import { SimBank } from "./sim-bank.js";
import type { Stage } from "./stage.js";

/** Of a run: each takes as long as a step. */
const MOST_PAYMENTS = 5;
const ACTS = ["arrive", "arrive", "arrive", "work", "work", "work", "settle", "close", "callback"] as const;

export class DepositActs {
  readonly bank = new SimBank();
  readonly #stage: Stage;
  readonly #random: Random;
  /** Null: the provider offers none. */
  #accountId: string | null = null;

  constructor(stage: Stage, random: Random) {
    this.#stage = stage;
    this.#random = random;
  }

  /** The rows of the run, beside those of its intent. */
  get ids(): readonly string[] {
    const id = this.#accountId;
    return id === null
      ? []
      : [id, ...this.bank.arrived.map(({ deposit }) => depositIntentIdOf(id, deposit.id))];
  }

  /** The customer asks for an account, where the provider offers one; nobody has called the provider yet. */
  async request(customerId: string, onboardingId: string): Promise<void> {
    if (!this.#random.chance(0.2)) return;
    const { connectionId, projectId, database } = this.#stage;
    const id = (this.#accountId = newId());
    this.bank.refuses = this.#random.chance(0.05);
    const given = {
      ...{
        id,
        projectId,
        customerId,
        connectionId,
        connectionVersion: 1,
        provider: "Sim",
        providerCode: "sim",
      },
      ...{ type: "ONRAMP", status: "PENDING", rail: "CARD", sandbox: false },
      src: { currencyCode: "USD", details: { countryCode: "US", accountHolderName: PERSON } },
      dest: { currencyCode: "USDC_POLYGON", details: { name: PERSON } },
      orderBody: JSON.stringify({ id, onboardingId, name: PERSON }),
      ...{ instructions: [], failureReason: null, lastDeposit: null, isCloseRequested: false },
      ...{
        attention: null,
        failedAttempts: 0,
        createdAt: database.clock.now(),
        updatedAt: database.clock.now(),
      },
    } as const satisfies StoredDepositAccount;
    await database.inProject(projectId, (tx) => {
      insertDepositAccount(tx, given, tx.now);
      return Promise.resolve();
    });
  }

  /** Beside everything else; null: nothing. @param faulty work of a server that calls over the network and can die */
  async happen(
    ramp: IntentContext,
    faulty: (random: Random, work: () => Promise<string>) => Promise<string>,
  ): Promise<string | null> {
    if (this.#accountId === null || !this.#random.chance(0.6)) return null;
    const act = this.#random.pick(ACTS);
    switch (act) {
      case "arrive":
        return this.#arrive();
      case "settle":
        this.bank.settle();
        return "deposits settled";
      case "close":
        return this.#close();
      case "callback":
        return this.#callback();
      case "work":
        return this.#random.chance(0.5) ? faulty(this.#random, () => this.work(ramp)) : this.work(ramp);
    }
  }

  #arrive(): string {
    if (!this.bank.isOpened) return "nothing arrives";
    const left = MOST_PAYMENTS - this.bank.arrived.length;
    const count = Math.min(left, this.#random.pick([1, 1, 3]));
    for (let at = 0; at < count; at++)
      this.bank.arrive({
        srcAmount: this.#random.pick(["100.00", "10.01", "4999.99", "0.50"]),
        srcCurrencyCode: this.#random.chance(0.2) ? "EUR" : "USD",
        reference: this.#random.pick([null, "RENT"]),
        isDoubled: this.#random.chance(0.3),
      });
    return `${String(count)} deposits arrive`;
  }

  /** The customer closes it, or the provider does. */
  async #close(): Promise<string> {
    if (this.#random.chance(0.7)) return "not closed";
    const id = this.#accountId ?? "";
    if (this.#random.chance(0.3)) return `closed by the provider: ${this.bank.close(id).kind}`;
    const { projectId, database } = this.#stage;
    return database.inProject(projectId, async (tx) => {
      const account = await lockDepositAccount(tx, id);
      if (account?.status !== "PENDING" && account?.status !== "ACTIVE") return "closed before";
      requestClose(tx, account);
      return "close requested";
    });
  }

  async #callback(): Promise<string> {
    const { connectionId, projectId, database } = this.#stage;
    const id = this.#accountId ?? "";
    await database.inProject(projectId, (tx) => requestAccountPoll(tx, id, connectionId, [1]));
    return "callback of the account";
  }

  /** Two servers read the account, or one, and its payments are looked up before or after. */
  async work(ramp: IntentContext): Promise<string> {
    if (this.#accountId === null) return "no account";
    const isAccountFirst = this.#random.chance(0.5);
    if (!isAccountFirst) await this.#lookUp(ramp);
    const servers = this.#random.pick([1, 1, 2]);
    const { projectId } = this.#stage;
    const id = this.#accountId;
    const read = () => processDepositAccount(ramp, projectId, id);
    // Each to its end: one that dies does not end the other.
    const results = await Promise.allSettled(Array.from({ length: servers }, read));
    for (const result of results) if (result.status === "rejected") throw result.reason;
    if (isAccountFirst) await this.#lookUp(ramp);
    return `account read by ${String(servers)}`;
  }

  async #lookUp(ramp: IntentContext): Promise<void> {
    for (const { id, transaction } of await this.#intents())
      if (transaction?.status !== "SUCCESS" && transaction?.status !== "REFUNDED")
        await processIfFree(ramp, this.#stage.projectId, { id, owner: newId() }, () => undefined);
  }

  async #intents(): Promise<readonly Intent[]> {
    const { projectId, database } = this.#stage;
    const [, ...ids] = this.ids;
    return database.inProject(projectId, async (tx) => {
      const intents = await Promise.all(ids.map((id) => readIntent(tx, id)));
      return intents.filter((intent) => intent !== null);
    });
  }

  async problems(): Promise<readonly string[]> {
    const id = this.#accountId;
    if (id === null) return [];
    const { projectId, database } = this.#stage;
    const account = await database.inProject(projectId, (tx) => readDepositAccount(tx, id));
    const intents = await this.#intents();
    const count = await this.#stage.depositIntents(id);
    const { arrived } = this.bank;
    const twins = arrived.filter(({ deposit }) => deposit.reference === "RENT").length - 1;
    const flagged = intents.filter(({ attention }) => "DUPLICATE_DEPOSIT" in attention);
    const isErased = account?.orderBody === null;
    return [
      ...(account === null ? ["the account is gone"] : []),
      ...(account?.attention == null ? [] : [`the account needs attention: ${account.attention}`]),
      ...(account?.status === "PENDING" ? ["the account stays PENDING"] : []),
      ...(count === arrived.length
        ? []
        : [`${String(arrived.length)} payments are ${String(count)} intents`]),
      ...(isErased || flagged.length === Math.max(twins, 0)
        ? []
        : [`${String(flagged.length)} twins are flagged`]),
      ...arrived.flatMap((payment, at) => paymentProblems(payment, intents[at])),
    ];
  }
}

/** What is wrong with a payment that is delivered or has gone back. */
function paymentProblems(payment: SimBank["arrived"][number], intent: Intent | undefined): readonly string[] {
  const { deposit, status } = payment;
  const about = (problem: string): string => `${deposit.id}: ${problem}`;
  if (intent === undefined) return [about("no intent")];
  const isServed = deposit.price !== undefined;
  const { attention } = intent;
  const others = Object.keys(attention).filter((kind) => kind !== "DUPLICATE_DEPOSIT");
  const books = new Map(SimBank.ledger(payment));
  return [
    ...(intent.status === (isServed ? "COMPLETED" : "TRANSACTION_FAILED") ? [] : [about(intent.status)]),
    ...(intent.transaction?.status === status
      ? []
      : [about(`${String(intent.transaction?.status)}, not ${status}`)]),
    ...(intent.returnReason === (deposit.returnReason ?? null) ? [] : [about(String(intent.returnReason))]),
    ...others.map((kind) => about(`needs attention: ${kind} ${JSON.stringify(attention)}`)),
    ...["USD", "EUR", "USDC_POLYGON"].flatMap((currency) => {
      const sum = total(intent.balances, { currency });
      const posted = total(intent.balances, { account: "provider", currency });
      const wanted = books.get(currency) ?? 0;
      return [
        ...(sum.isZero() ? [] : [about(`the journal is off by ${sum.text()} ${currency}`)]),
        ...(posted.equals(String(wanted))
          ? []
          : [about(`posted ${posted.text()} ${currency}, not ${String(wanted)}`)]),
      ];
    }),
  ];
}
