import { randomUUID } from "node:crypto";
import type { Logger } from "../../core/http/logger.js";
import type { SentUse } from "../../core/model/organization-use.js";
import { Interval, Timer } from "../../core/model/timer.js";
import type { OwnTables } from "../../postgres/own-tables.js";
import {
  OrganizationShare,
  type Reports,
  type ShareAnswer,
  type ShareFigures,
  type Urgency,
} from "./quota-share.js";

/** How often what was counted is reported, where no share needs it sooner: what a killed process loses without a quota. */
const REPORT_MS = 1000;
/** A process that has nothing to report says so this often: after 30 s it is taken for dead. */
const SIGN_MS = 5000;
/** How soon a share is reported for which requests wait, and one that ends within half a second: many go together. */
const DELAYS_MS = { waiting: 5, low: 50, soon: REPORT_MS } as const;
/** How soon a report that failed is sent again. */
const RETRY_MS = 250;
const QUERY_TIMEOUT_MS = 2000;
/** How often hours are closed. */
const CLOSE_MS = 10_000;
/** Keys and endpoints that are counted one by one while the database is away, about 5 MB; the rest is counted by organization. */
const MAX_COUNTS = 20_000;
const OTHERS = "*";
/** Waits for the report that runs alone. */
const DUE = 0;
const HOUR_MS = 3_600_000;

/** What was sent to a key by an endpoint in an hour. */
interface Count {
  readonly hour: string;
  readonly organization: number;
  readonly key: string;
  readonly endpoint: string;
  requests: number;
  rows: number;
  bytes: number;
  database_ms: number;
}

/** Counts that are sent until the database has them. Its number makes sure that it counts them once. */
interface UseReport {
  readonly batch: number;
  readonly until: string;
  readonly counts: readonly Count[];
}

/**
 * Reports what this process counts, and takes and gives back its shares, one report at a time (`report_use` of migration 0003).
 * Memory: a share of about 1 kB for each organization with a key.
 */
export class UseReports implements Reports {
  readonly #tables: OwnTables;
  readonly #log: Logger;
  readonly #process = randomUUID();
  /** By number. Bounded by the organizations of the database. */
  readonly #shares = new Map<number, OrganizationShare>();
  /** Bounded as the shares are. */
  readonly #changed = new Set<OrganizationShare>();
  /** Bounded by `MAX_COUNTS`, and organizations and hours beyond. */
  #counts = new Map<string, Count>();
  #pending: UseReport | null = null;
  #batch = 0;
  #isAway = false;
  #isClosed = false;
  #running: Promise<void> | null = null;
  #timer: Timer | null = null;
  #dueAt = Infinity;
  /** By `performance.now()`, as `#dueAt` and `#closedHoursAt` are. */
  #reportedAt = -Infinity;
  #closedHoursAt = -Infinity;
  #hour = "";
  #hourEnds = 0;
  readonly #tick: Interval;
  #waiters: (() => void)[] = [];
  #next: Promise<void> | null = null;

  private constructor(tables: OwnTables, log: Logger) {
    this.#tables = tables;
    this.#log = log;
    this.#tick = new Interval(REPORT_MS, () => this.#check()).unref();
  }

  /** Does not connect: the database may be away. */
  static async open(databaseUrl: string, log: Logger): Promise<UseReports> {
    const { OwnTables } = await import("../../postgres/own-tables.js");
    const options = { name: "routewright quotas", queryTimeoutMs: QUERY_TIMEOUT_MS };
    return new UseReports(new OwnTables(databaseUrl, options), log);
  }

  /** The share of an organization, with these figures from now on. */
  shareOf(organization: number, figures: ShareFigures): OrganizationShare {
    const known = this.#shares.get(organization);
    if (known !== undefined) {
      known.setFigures(figures);
      return known;
    }
    const share = new OrganizationShare(organization, figures, this);
    this.#shares.set(organization, share);
    return share;
  }

  get isAway(): boolean {
    return this.#isAway;
  }

  /** Why quotas are refused, as a sentence for `/health`; null while they are not. */
  get degraded(): string | null {
    return this.#isAway
      ? "The use of organizations cannot be written: those with a quota are refused."
      : null;
  }

  get next(): Promise<void> {
    this.#next ??= new Promise((resolve) => this.#waiters.push(resolve));
    return this.#next;
  }

  add(organization: number, { key, endpoint, rows, bytes, databaseMs }: SentUse): void {
    const hour = this.#hourOf(Date.now());
    const id = `${String(organization)} ${key} ${hour} ${endpoint}`;
    const count = this.#counts.get(id) ?? this.#newCount(id, { hour, organization, key, endpoint });
    count.requests++;
    count.rows += rows ?? 0;
    count.bytes += bytes;
    count.database_ms += databaseMs ?? 0;
  }

  changed(share: OrganizationShare, urgency: Urgency): void {
    this.#changed.add(share);
    if (!this.#isAway) this.#schedule(DELAYS_MS[urgency]);
  }

  /** Reports the rest, and gives all shares back. */
  async close(): Promise<void> {
    this.#tick.stop();
    this.#timer?.stop();
    await this.#running;
    this.#isClosed = true;
    for (const share of this.#shares.values()) if (!share.isIdle) this.#changed.add(share);
    if (this.#batch > 0 || this.#counts.size > 0 || this.#changed.size > 0) await this.#report();
    // The second one sends what was counted while the first was on its way.
    if (this.#pending !== null || this.#counts.size > 0) await this.#report();
    const lost = requestsOf(this.#pending?.counts ?? []) + requestsOf([...this.#counts.values()]);
    if (lost > 0) this.#log.error({ requests: lost }, "use of these requests was not written");
    await this.#tables.close();
  }

  #newCount(id: string, place: Pick<Count, "hour" | "organization" | "key" | "endpoint">): Count {
    const isFull = this.#counts.size >= MAX_COUNTS && place.key !== OTHERS;
    const others = isFull ? { ...place, key: OTHERS, endpoint: OTHERS } : place;
    const name = isFull ? `${String(place.organization)} ${place.hour} ${OTHERS}` : id;
    const known = this.#counts.get(name);
    if (known !== undefined) return known;
    const count = { ...others, requests: 0, rows: 0, bytes: 0, database_ms: 0 };
    this.#counts.set(name, count);
    return count;
  }

  #hourOf(now: number): string {
    if (now < this.#hourEnds && now >= this.#hourEnds - HOUR_MS) return this.#hour;
    const start = Math.floor(now / HOUR_MS) * HOUR_MS;
    this.#hour = new Date(start).toISOString();
    this.#hourEnds = start + HOUR_MS;
    return this.#hour;
  }

  /** Each second: what was counted, shares that are not needed, or a sign of life. */
  #check(): void {
    for (const share of this.#shares.values()) if (!share.isIdle) this.#changed.add(share);
    const isQuiet = this.#changed.size === 0 && this.#counts.size === 0 && this.#pending === null;
    if (!isQuiet || performance.now() - this.#reportedAt >= SIGN_MS) this.#schedule(0);
  }

  #schedule(afterMs: number): void {
    const dueAt = performance.now() + afterMs;
    if (this.#isClosed || dueAt >= this.#dueAt) return;
    this.#timer?.stop();
    this.#dueAt = dueAt;
    this.#timer = new Timer(afterMs, () => this.#run()).unref();
  }

  #run(): void {
    // Not by the clock: a timer may end a millisecond before it says so, and nothing would be reported any more.
    this.#dueAt = this.#running === null ? Infinity : DUE;
    if (this.#running !== null) return;
    this.#running = this.#report().finally(() => {
      this.#running = null;
      if (this.#isAway) {
        this.#dueAt = Infinity;
        this.#schedule(RETRY_MS);
      } else if (this.#dueAt === DUE) this.#run();
    });
  }

  /** Never rejects. */
  async #report(): Promise<void> {
    const now = performance.now();
    const batch = (this.#pending ??= this.#newBatch());
    const shares = [...this.#changed];
    this.#changed.clear();
    const asked = shares.map((share) => share.request(now, this.#isClosed));
    try {
      const report = { process: this.#process, ends: this.#isClosed, ...batch, shares: asked };
      const [row] = await this.#tables.ask<{ readonly answers: readonly ShareAnswer[] }>(REPORT, [
        JSON.stringify(report),
      ]);
      this.#pending = null;
      this.#reportedAt = now;
      const answers = new Map(row?.answers.map((answer) => [answer.organization, answer]));
      for (const share of shares) {
        const answer = answers.get(share.organization);
        if (answer !== undefined) share.answered(answer, performance.now());
      }
      if (this.#isAway) this.#log.info("the use of organizations is written again");
      this.#isAway = false;
      if (now - this.#closedHoursAt >= CLOSE_MS) await this.#closeHours(now);
    } catch (error) {
      for (const share of shares) this.#changed.add(share);
      if (!this.#isAway) this.#log.error({ err: error }, AWAY);
      this.#isAway = true;
    } finally {
      const waiters = this.#waiters;
      [this.#waiters, this.#next] = [[], null];
      for (const resolve of waiters) resolve();
    }
  }

  #newBatch(): UseReport {
    const counts = [...this.#counts.values()].map((count) => ({
      ...count,
      database_ms: Math.round(count.database_ms),
    }));
    this.#counts = new Map();
    for (const share of this.#changed) share.send();
    return { batch: ++this.#batch, until: new Date().toISOString(), counts };
  }

  async #closeHours(now: number): Promise<void> {
    this.#closedHoursAt = now;
    await this.#tables.ask(CLOSE_HOURS, []);
  }
}

const REPORT = "SELECT routewright_keys.report_use($1) AS answers";
const CLOSE_HOURS = "SELECT routewright_keys.close_hours()";
const AWAY =
  "the use of organizations cannot be written: it stays in memory until it can; organizations with a quota are refused once their shares are used";

function requestsOf(counts: readonly Pick<Count, "requests">[]): number {
  return counts.reduce((sum, { requests }) => sum + requests, 0);
}
