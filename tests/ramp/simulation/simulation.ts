/** One run of the simulation: an intent, everything that can happen to it, and what must be true once all is quiet. */
import { eraseCustomer } from "../../../runtime/ramp/api/erase-customer.js";
import { heldToken } from "../../../runtime/ramp/sign-in/customer-token.js";
import type { IntentContext } from "../../../runtime/ramp/intents/lease.js";
import { newId } from "../../../runtime/ramp/database/id.js";
import type { RampDatabase } from "../../../runtime/ramp/database/ramp-database.js";
import type { ProjectTransaction } from "../../../runtime/ramp/database/transaction.js";
import { type Intent, isTerminal, needsAttention } from "../../../runtime/ramp/intents/intent.js";
import { openRefund } from "../../../runtime/ramp/intents/refund.js";
import { readCustomerFacts } from "../../../runtime/ramp/core/customer-facts.js";
import { readIntent, recordIntent } from "../../../runtime/ramp/intents/intent-rows.js";
import { DEFAULT_POLLING_POLICY, requestPoll } from "../../../runtime/ramp/intents/lease.js";
import { processIfFree } from "../../../runtime/ramp/intents/process-intent.js";
import {
  cancelIntent,
  cancelRefund,
  pollIntent,
  refundIntent,
  resolveIntent,
} from "../../../runtime/ramp/operator/intent-actions.js";
import { difference } from "../../../runtime/ramp/operator/diagnostics.js";
import { Crash, type Fault, SimProvider } from "./sim-provider.js";
import { knownProblems, moneyProblems, summary, unflagged } from "./problems.js";
import { DepositActs } from "./deposit-acts.js";
import { PERSON, PriceActs } from "./price-acts.js";
import { Random } from "./random.js";
import { anyClock, type Stage } from "./stage.js";

export { PERSON };
const HOUR_MS = 3_600_000;
const POLLING = { ...DEFAULT_POLLING_POLICY, attentionAfter: 3 };
const FAULTS: readonly Fault[] = [
  "none",
  "none",
  "request lost",
  "answer lost",
  "doubled",
  "crash before",
  "crash after",
  "stale",
  "bare",
  "forgotten",
];

/** Work of a process that may not survive it. */
async function survived(work: () => Promise<string>): Promise<string> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Crash)) throw error;
    return "crashed";
  }
}

export class Simulation {
  readonly #stage: Stage;
  readonly #random: Random;
  /** Of its own: the money's runs stay those of their seeds. */
  readonly #erasures: Random;
  readonly #clocks: Random;
  readonly #ramp: IntentContext;
  readonly #prices: PriceActs;
  readonly #deposits: DepositActs;
  readonly provider: SimProvider;
  /** What happened, for a run that fails. */
  readonly trace: string[] = [];
  #id = "";
  #customerId = "";
  #isErased = false;
  #crashesAtCommit: "before" | "after" | null = null;
  #backup: {
    readonly rows: unknown;
    readonly accepted: ReadonlySet<string>;
    readonly sequences: readonly number[];
    readonly isErased: boolean;
  } | null = null;
  /** The highest sequence number that was sent before a restore, and those that its backup has. */
  #lastSent = 0;
  #kept: ReadonlySet<number> = new Set();
  /** What was known to be wrong when an operator decided: it needs no attention again. */
  #accepted: ReadonlySet<string> = new Set();
  #anomalies = 0;
  #refundedByNote = new Set<string>();
  /** Time that has passed, without jumps. */
  #passedMs = 0;

  constructor(stage: Stage, seed: number) {
    this.#stage = stage;
    this.#random = new Random(seed);
    this.#erasures = new Random(seed + 1_000_000);
    this.#clocks = new Random(seed + 4_000_000);
    this.#prices = new PriceActs(stage, new Random(seed + 2_000_000));
    this.#deposits = new DepositActs(stage, new Random(seed + 3_000_000));
    this.provider = new SimProvider(this.#random, this.#prices.market, this.#deposits.bank);
    const connection = {
      id: stage.connectionId,
      provider: this.provider,
      amountTolerance: "0.5",
      attention: null,
    };
    this.#ramp = {
      ...stage.ramp,
      polling: POLLING,
      database: this.#crashing(stage.database),
      providers: { get: () => Promise.resolve(connection), noteOffer: () => Promise.resolve() },
    } as unknown as IntentContext;
  }

  /** Transactions that the process does not survive: they are committed, or not. */
  #crashing(database: RampDatabase): RampDatabase {
    const inProject: RampDatabase["inProject"] = async (project, work) => {
      const crash = this.#crashesAtCommit;
      this.#crashesAtCommit = null;
      const result = await database.inProject(project, async (tx) => {
        const value = await work(tx);
        if (crash === "before") throw new Crash();
        return value;
      });
      if (crash === "after") throw new Crash();
      return result;
    };
    return { clock: database.clock, inProject } as RampDatabase;
  }

  async run(): Promise<void> {
    if (!(await this.#create())) return;
    await this.#deposits.request(this.#customerId, this.#id);
    const steps = 6 + Math.floor(this.#random.next() * 14);
    for (let step = 0; step < steps; step++) await this.#happen();
    await this.#settle();
    await this.#check();
    // A jump of the clock moves the deadlines of all that there is.
    await this.#stage.putBack(this.#ids, {});
  }

  /** Of its intent, and of the deposit account and its intents. */
  get #ids(): readonly string[] {
    return [this.#id, ...this.#deposits.ids];
  }

  /** False: the customer was erased in the middle of the request, and nothing is stored. */
  async #create(): Promise<boolean> {
    const { connectionId, projectId, database } = this.#stage;
    const customerId = (this.#customerId = await this.#stage.customer(newId()));
    this.#id = newId();
    const isPriced = this.#random.chance(0.7);
    const hasIndicativePrice = this.#random.chance(0.5);
    const autoExecute = this.#random.chance(0.8);
    const given = this.#prices.intent(
      { id: this.#id, customerId, connectionId },
      { isPriced, hasIndicativePrice, autoExecute },
    );
    this.provider.quotes = this.#random.chance(0.8);
    this.provider.refuses = this.#random.chance(0.05);
    this.provider.refusesRefunds = this.#random.chance(0.2);
    const record = () =>
      database.inProject(projectId, async (tx) => {
        const { text, values } = heldToken({ projectId, customerId, generation: 0 });
        if ((await tx.row(text, values)) === null) return null;
        return recordIntent(tx, given, await readCustomerFacts(tx, customerId), POLLING);
      });
    const recorded = this.#erasures.chance(0.2) ? await this.#whileErased(record) : await record();
    await this.#advance(POLLING.leaseMs + 1);
    if ((recorded === null) !== this.#isErased) throw new Error("Recorded for a customer who was erased.");
    return recorded !== null;
  }

  /** A request that was authorized before the erasure writes before it, or nothing. */
  async #whileErased<T>(request: () => Promise<T>): Promise<T> {
    if (this.#erasures.chance(0.5)) {
      const [, result] = await Promise.all([this.#erase(), request()]);
      return result;
    }
    const [result] = await Promise.all([request(), this.#erase()]);
    return result;
  }

  /** The customer is erased, unless the intent is open. */
  async #erase(): Promise<string> {
    const erase = (tx: ProjectTransaction) => eraseCustomer(tx, this.#customerId);
    const refused = await this.#stage.database.asOperatorOf(this.#stage.projectId, erase);
    this.#isErased ||= refused === null;
    return `erasure: ${refused?.error ?? "erased"}`;
  }

  async #happen(): Promise<void> {
    const acts: readonly (() => Promise<string>)[] = [
      () => this.#work(),
      () => this.#work(),
      () => this.#faultyWork(),
      () => this.#faultyWork(),
      () => this.#providerActs(),
      () => this.#providerActs(),
      () => this.#callback(),
      () => this.#pass(),
      () => this.#pass(),
      () => this.#operate(),
      () => this.#prices.execute(this.#ramp, this.#id),
      () => this.#backUpOrRestore(),
      () => this.#jump(),
    ];
    // While the server works on the intent.
    const moved = await this.#prices.happen(this.#crashing(this.#stage.database), this.#id);
    if (moved !== null) this.trace.push(moved);
    const arrived = await this.#deposits.happen(this.#ramp, (random, work) => this.#faulty(random, work));
    if (arrived !== null) this.trace.push(arrived);
    const said = this.#erasures.chance(0.07)
      ? (await Promise.all([this.#work(), this.#erase()])).join(", ")
      : await this.#random.pick(acts)();
    this.trace.push(said);
  }

  /** The server works on the intent, as after a poll or a callback. */
  async #work(): Promise<string> {
    const leased = { id: this.#id, owner: newId() };
    return survived(async () => {
      await processIfFree(this.#ramp, this.#stage.projectId, leased, () => undefined);
      return "worked";
    });
  }

  #faultyWork(): Promise<string> {
    return this.#faulty(this.#random, () => this.#work());
  }

  /** Over a network that loses and doubles, in a process that can die. */
  async #faulty(random: Random, work: () => Promise<string>): Promise<string> {
    this.provider.fault = random.pick(FAULTS);
    this.#crashesAtCommit = random.chance(0.2) ? random.pick(["before", "after"] as const) : null;
    const said = `${this.provider.fault}, crash at commit: ${String(this.#crashesAtCommit)}`;
    const worked = await survived(work);
    this.provider.fault = "none";
    this.#crashesAtCommit = null;
    return `${worked} with ${said}`;
  }

  async #callback(): Promise<string> {
    const { connectionId, projectId, database } = this.#stage;
    const times = this.#random.pick([1, 1, 2]);
    for (let sent = 0; sent < times; sent++)
      await database.inProject(projectId, (tx) => requestPoll(tx, this.#id, connectionId, [1]));
    return `callback ${String(times)}`;
  }

  #providerActs(): Promise<string> {
    const before = this.provider.order?.status;
    const said = this.provider.act();
    // A payment of an order that had ended is late.
    if (before === "FAILED" || before === "CANCELLED") this.#anomalies++;
    if (!["nothing", "funded", "failed", "settled", "settled again"].includes(said)) this.#anomalies++;
    if (this.#random.chance(0.3)) this.provider.quotes = true;
    return Promise.resolve(`provider: ${said}`);
  }

  async #pass(): Promise<string> {
    const milliseconds = Math.ceil(
      this.#random.pick([1_000, 60_000, 130_000, HOUR_MS, 10 * HOUR_MS]) * this.#random.next(),
    );
    await this.#advance(milliseconds);
    return `passed ${String(milliseconds)} ms`;
  }

  async #advance(milliseconds: number): Promise<void> {
    this.#passedMs += milliseconds;
    await this.#stage.advance(milliseconds);
  }

  /** The database's clock jumps by a day; the server works on before and after it notices. */
  async #jump(): Promise<string> {
    const hours = this.#random.pick([-25, 25]);
    await this.#stage.jump(hours * HOUR_MS);
    const worked = this.#random.chance(0.5) ? await this.#work() : "not worked";
    await this.#stage.notice();
    // Its deadlines are those of the clock before.
    this.#backup = null;
    return `clock jumped by ${String(hours)} h, ${worked}`;
  }

  async #operate(): Promise<string> {
    const { database } = this.#stage;
    const action = this.#random.pick([
      "cancel",
      "completed",
      "failed",
      "refund",
      "refund",
      "cancel refund",
      "poll",
    ] as const);
    if (action === "cancel") return `cancel: ${String((await cancelIntent(database, this.#id)).ok)}`;
    if (action === "poll") return `poll: ${String((await pollIntent(database, this.#id)).ok)}`;
    if (action === "refund") return this.#refund();
    if (action === "cancel refund") return this.#cancelRefund();
    const resolved = await resolveIntent(database, this.#id, { as: action, note: "decided" });
    if (resolved.ok) {
      this.#accepted = knownProblems(await this.#read());
      this.#anomalies++;
    }
    return `resolve as ${action}: ${String(resolved.ok)}`;
  }

  /** Two operators at once, or one twice: the same wish, or another. */
  async #refund(): Promise<string> {
    const notes = [1, 2].map(() => `${this.#random.pick(["a", "b"])} of ${PERSON}`);
    const amount = this.#random.pick(["60.00", "40.00", null, "0", "100.01", "10.005"]);
    const wishes = await Promise.all(
      notes.map((reason) => refundIntent(this.#stage.database, this.#id, { amount, reason })),
    );
    for (const wish of wishes) if (wish.ok) this.#refundedByNote.add(wish.value.refundId);
    return `refund ${String(amount)} ${notes.join()}: ${wishes.map(({ ok }) => ok).join()}`;
  }

  /** The project cancels a refund, whatever its state. */
  async #cancelRefund(): Promise<string> {
    const { refunds } = await this.#read();
    if (refunds.length === 0) return "no refund to cancel";
    const { id } = this.#random.pick(refunds);
    const cancelled = await cancelRefund(this.#stage.database, this.#id, id);
    return `cancel refund ${id}: ${String(cancelled.ok)}`;
  }

  async #backUpOrRestore(): Promise<string> {
    const sequences = await this.#stage.sequences(this.#id);
    if (this.#backup === null) {
      const rows = await this.#stage.backup(this.#ids);
      this.#backup = { rows, accepted: this.#accepted, sequences, isErased: this.#isErased };
      return "backed up";
    }
    const { rows, accepted, sequences: kept, isErased } = this.#backup;
    this.#kept = new Set(kept);
    this.#lastSent = Math.max(this.#lastSent, ...sequences);
    const isEmptyCluster = this.#random.chance(0.5);
    // To restore takes time.
    await this.#advance(1_000);
    // An acceptance that is lost leaves an order at a price that nobody knows.
    if (this.#prices.restored()) this.#anomalies++;
    const given = { isEmptyCluster, lastSent: this.#lastSent };
    const said = await this.#stage.restore(this.#ids, rows, { ...given, ...anyClock(this.#clocks) });
    // An erasure after the backup is lost with the restore.
    if (this.#isErased && !isErased) await this.#stage.customer(this.#customerId);
    this.#isErased = isErased;
    // A decision that is lost with the restore has to be made again.
    this.#accepted = accepted;
    this.#backup = null;
    return `restored${isEmptyCluster ? " on an empty cluster" : ""}, ${said}`;
  }

  /** Nothing fails any more: the intent comes to rest. */
  async #settle(): Promise<void> {
    this.provider.quotes = true;
    if (this.#random.chance(0.3)) await this.#advance(POLLING.intentLifetimeMs);
    for (let round = 0; round < 4; round++) {
      await this.#advance(POLLING.leaseMs + POLLING.maxBackoffMs + 1_000);
      await this.#callback();
      await this.#work();
      if (round < 2) continue;
      this.#deposits.bank.settle();
      // The look-up that closes an account may be before the one that reads what has arrived, and look-ups of payments before both.
      await this.#deposits.work(this.#ramp);
      await this.#deposits.work(this.#ramp);
    }
    this.trace.push("settled");
  }

  async #read(): Promise<Intent> {
    const { database, projectId } = this.#stage;
    const intent = await database.inProject(projectId, (tx) => readIntent(tx, this.#id));
    if (intent === null) throw new Error("The intent is gone.");
    return intent;
  }

  async #check(): Promise<void> {
    const intent = await this.#read();
    const sequences = await this.#stage.sequences(this.#id);
    const repeated = sequences.filter((sequence) => sequence <= this.#lastSent && !this.#kept.has(sequence));
    const lost = intent.transaction === null && this.provider.order !== null;
    if (lost && (await difference(intent, { code: "sim", provider: this.provider })) === null)
      throw new Error("The doctor misses an order that only the provider knows.");
    const problems = [
      ...(repeated.length > 0 ? [`not above what was sent: ${repeated.join()}`] : []),
      ...(lost && isTerminal(intent.status) && !this.provider.hasDenied ? ["ended without its order"] : []),
      ...(intent.status === "EXPIRED" && this.#passedMs < POLLING.intentLifetimeMs ? ["expired early"] : []),
      ...this.#prices.problems(intent, this.provider.order?.price),
      ...(openRefund(intent) ? ["a refund was not sent"] : []),
      ...moneyProblems(intent, this.provider, this.#refundedByNote),
      ...this.#attentionProblems(intent),
      ...(await this.#deposits.problems()),
      ...(await this.#identityProblems(intent)),
    ];
    if (problems.length > 0)
      throw new Error([...problems, JSON.stringify(summary(intent)), ...this.trace].join("\n"));
  }

  /** Nothing names an erased customer, whatever was under way; the intent of another one is its own. */
  async #identityProblems(intent: Intent): Promise<readonly string[]> {
    if (!this.#isErased) return intent.customerId === this.#customerId ? [] : ["another customer's intent"];
    return (await this.#stage.traces(this.#ids, this.#customerId)).map((table) => `named in ${table}`);
  }

  /** What is wrong needs attention until somebody decides; what is right needs none. */
  #attentionProblems(intent: Intent): readonly string[] {
    const isFlagged = needsAttention(intent.attention);
    if (this.#anomalies === 0 && isFlagged && !this.trace.some((said) => said.includes("refund")))
      return [`needs attention for nothing: ${JSON.stringify(intent.attention)}`];
    return isFlagged ? [] : unflagged(intent, this.provider, this.#accepted);
  }
}
