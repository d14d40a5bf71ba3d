import { randomUUID } from "node:crypto";
import { SUMS } from "../../core/handler/request-record.js";
import type { Logger } from "../../core/http/logger.js";
import type { RequestRecord } from "../../core/handler/request-record.js";
import type { Caller } from "../../core/model/caller.js";
import { eraseUsers, type UsageLine, usageLines, useOfKeys } from "./usage-report.js";
import { recordedDay, type ShapeCount, type UsageRow } from "./usage-row.js";
import { type BatchNumber, isDenied, UsageTable } from "./usage-table.js";
import { Interval } from "../../core/model/timer.js";

/** How often counts are written. A killed process loses those of its last interval. */
const INTERVAL_MS = 10_000;

/** Rows that wait while the database takes none, about 5 MB; the counts of further ones are lost. */
const MAX_WAITING = 20_000;

const NOT_WRITTEN =
  "usage is not written: counts stay in memory until it can be. A role that may not write needs `grant`, or set USAGE_ENABLED=false";

/** What the database's owner runs for the role of the server, whose name is an SQL identifier. */
function writeGrant(role: string): string {
  return `CREATE SCHEMA IF NOT EXISTS routewright; GRANT ALL ON SCHEMA routewright TO ${role}; GRANT ALL ON ALL TABLES IN SCHEMA routewright TO ${role}`;
}

/** Rows on their way, made on a day in UTC. */
interface UsageBatch extends BatchNumber {
  readonly day: string;
  readonly rows: readonly UsageRow[];
}

/** How far back a caller sees its own use. */
const SHOWN_MS = 30 * 24 * 60 * 60_000;

const firstShown = (): string => dayOf(Date.now() - SHOWN_MS);

export interface UsageOptions {
  /** A `postgres://` address. */
  readonly databaseUrl: string;
  readonly log: Logger;
  /** Default: 10 s. */
  readonly intervalMs?: number;
}

/** Records usage: counts in memory, and adds the counts to the database in the background. */
export class Usage {
  readonly counter = new UsageCounter();
  readonly #options: UsageOptions;
  readonly #table: UsageTable;
  readonly #timer: Interval;
  #writing: Promise<void> = Promise.resolve();
  #isFailing = false;
  /** Requests of rows that did not fit. */
  #lost = 0;
  /** The last day that the table has as recorded. */
  #recordedDay = "";
  readonly #writer = randomUUID();
  #number = 0;
  /** Sent until the table has it: a connection may break after the commit. */
  #pending: UsageBatch | null = null;

  private constructor(table: UsageTable, options: UsageOptions) {
    this.#options = options;
    this.#table = table;
    this.#timer = new Interval(options.intervalMs ?? INTERVAL_MS, () => void this.#flush()).unref();
  }

  static async open(options: UsageOptions): Promise<Usage> {
    return new Usage(await UsageTable.open(options.databaseUrl), options);
  }

  /** What a key has used, by day in UTC. The counts of the last seconds are missing. */
  daysOf(keyId: string): Promise<readonly UsageLine[]> {
    return usageLines(this.#table, { by: "day", since: firstShown(), key: keyId });
  }

  /** The same of several keys, by day, endpoint and key. */
  useOf(keyIds: readonly string[]): Promise<readonly UsageLine[]> {
    return useOfKeys(this.#table, keyIds, firstShown());
  }

  /** Erases the names of the users of these keys: counts stay. What was counted before is written first. */
  async eraseUsers(keyIds: readonly string[]): Promise<void> {
    if (keyIds.length === 0) return;
    await this.#flush();
    await eraseUsers(this.#table, keyIds);
  }

  /** Writes the remaining counts, logs how many it could not write, and closes the connection. */
  async close(): Promise<void> {
    this.#timer.stop();
    await this.#flush();
    const lost = this.#lost + requestsOf([...(this.#pending?.rows ?? []), ...this.counter.take()]);
    if (lost > 0) this.#options.log.warn({ requests: lost }, "usage of these requests was not written");
    await this.#table.close();
  }

  /** Never rejects. One write at a time. */
  #flush(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#write());
    return this.#writing;
  }

  async #write(): Promise<void> {
    const { log } = this.#options;
    const isAgain = this.#pending !== null;
    const batch = (this.#pending ??= this.#nextBatch());
    if (batch === null) return;
    try {
      await this.#table.add(batch.rows, batch);
      this.#pending = null;
      this.#recordedDay = batch.day;
      if (this.#isFailing) log.info("usage is recorded");
      this.#isFailing = false;
    } catch (error) {
      for (const row of this.#bounded(this.counter.take())) this.counter.add(row);
      // A lasting failure is logged once.
      if (!this.#isFailing)
        log.warn(
          { err: error, ...(isDenied(error) && { grant: writeGrant(await this.#table.role()) }) },
          NOT_WRITTEN,
        );
      this.#isFailing = true;
      return;
    }
    if (isAgain) await this.#write();
  }

  /** What was counted since the last one; null: nothing. */
  #nextBatch(): UsageBatch | null {
    const day = dayOf(Date.now());
    if (this.#recordedDay !== day) this.counter.add(recordedDay(day));
    const rows = this.counter.take();
    if (rows.length === 0) return null;
    return { day, writer: this.#writer, batch: ++this.#number, rows: this.#bounded(rows) };
  }

  /** So many as may wait; of further ones the days say that requests were lost. */
  #bounded(rows: readonly UsageRow[]): readonly UsageRow[] {
    const further = rows.slice(MAX_WAITING);
    this.#lost += requestsOf(further);
    for (const { day, requests } of further) this.counter.add(recordedDay(day, requests));
    return rows.slice(0, MAX_WAITING);
  }
}

/** Requests of keys and routes: those of recorded days are counted as lost already. */
function requestsOf(rows: readonly UsageRow[]): number {
  return rows.reduce((sum, { route, requests }) => sum + (route === "" ? 0 : requests), 0);
}

function dayOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(0, 10);
}

const DAY_MS = 24 * 60 * 60_000;

const REFUSALS: ReadonlySet<number> = new Set([401, 403, 429]);

/** Names of parameters and columns that a row counts one by one; an endpoint may have 500 columns. */
const MAX_NAMES = 200;

/** Shapes of one row, and of all rows between two writes: up to 1 kB each. */
const MAX_SHAPES = 500;
const MAX_ALL_SHAPES = 20_000;

/** What stands for the names beyond `MAX_NAMES`. */
const OTHER_NAMES = "*";

/** Counts in memory: a row of about 250 bytes for each key, route and day, and 50 for each name of a parameter. */
export class UsageCounter {
  /** By day, route and key: a text of the three took a microsecond. Bounded by keys and endpoints: it is emptied at each flush. */
  readonly #rows = new Map<string, Map<string, Map<string, CountedRow>>>();
  #size = 0;
  readonly #shapes = new ShapeCounter();
  #day = "";
  #dayEnds = -Infinity;

  /** Counts a response sent at `now`, in milliseconds since 1970. */
  count(
    { caller, route, path, status, rows, bytes, parameters, shape }: RequestRecord,
    now = Date.now(),
  ): void {
    // Who still calls a former path is counted there.
    const place = this.#rowOf(caller, route === null ? "none" : (path ?? route), now);
    const counted = place.row;
    const isRefused = REFUSALS.has(status);
    counted.requests++;
    if (isRefused) counted.refused++;
    else if (status >= 400) counted.errors++;
    counted.rows += rows ?? 0;
    counted.bytes += bytes;
    counted.lastSeen = Math.max(counted.lastSeen, now);
    for (const name of parameters) addName(counted.parameters, name, 1);
    if (shape != null && status < 400) this.#shapes.add(place, shape, 1);
  }

  /** The counts of a caller's key, a route and the day of `now`. */
  #rowOf({ key, tier }: Caller, route: string, now: number): CountedRow {
    const day = this.#dayOf(now);
    const known = innerMap(innerMap(this.#rows, day), route).get(key?.id ?? "none");
    if (known) return known;
    const who = { key: key?.id ?? "none", user: key?.user ?? "", org: key?.org ?? "", tier };
    return this.#keep({ ...recordedDay(day, 0), ...who, route, lastSeen: now });
  }

  #keep(row: UsageRow): CountedRow {
    const counted = { row, number: this.#size++ };
    innerMap(innerMap(this.#rows, row.day), row.route).set(row.key, counted);
    return counted;
  }

  #dayOf(now: number): string {
    if (now < this.#dayEnds && now >= this.#dayEnds - DAY_MS) return this.#day;
    this.#day = dayOf(now);
    this.#dayEnds = Date.parse(this.#day) + DAY_MS;
    return this.#day;
  }

  /** Adds counts, such as those that could not be written. */
  add(row: UsageRow): void {
    const known = innerMap(innerMap(this.#rows, row.day), row.route).get(row.key);
    if (known) {
      for (const sum of SUMS) known.row[sum] += row[sum];
      known.row.lastSeen = Math.max(known.row.lastSeen, row.lastSeen);
      for (const [name, requests] of row.parameters) addName(known.row.parameters, name, requests);
    }
    const { shapes = [], ...rest } = row;
    const counted = known ?? this.#keep(rest);
    for (const { name, requests } of shapes) this.#shapes.add(counted, name, requests);
  }

  /** Returns the rows counted since the last call, and clears them. */
  take(): readonly UsageRow[] {
    this.#shapes.clear();
    const byKey = Array.from(this.#rows.values(), (byRoute) => [...byRoute.values()]).flat();
    const rows = byKey.flatMap((counted) => Array.from(counted.values(), ({ row }) => row));
    this.#rows.clear();
    return rows;
  }
}

/** A row with its place among those that are counted. */
interface CountedRow {
  readonly row: UsageRow;
  readonly number: number;
}

/**
 * Counts of the shapes of rows. Each shape has a number, so that a request costs one look-up of a text and one of a number: a map
 * in each row took 4 µs of a request, most of it in collections.
 */
class ShapeCounter {
  /** Bounded by `MAX_ALL_SHAPES`, as the counts are; emptied at each flush. */
  readonly #numbers = new Map<string, number>();
  /** Bounded by `MAX_ALL_SHAPES`. */
  readonly #counts = new Map<number, ShapeCount>();

  /** What is not kept is the rest: requests that succeeded, without those of shapes. */
  add({ row, number }: CountedRow, name: string, requests: number): void {
    const known = this.#numbers.get(name);
    const place = number * MAX_ALL_SHAPES + (known ?? this.#numbers.size);
    const count = known === undefined ? undefined : this.#counts.get(place);
    if (count !== undefined) {
      count.requests += requests;
    } else if ((row.shapes?.length ?? 0) < MAX_SHAPES && this.#counts.size < MAX_ALL_SHAPES) {
      if (known === undefined) this.#numbers.set(name, this.#numbers.size);
      const added = { name, requests };
      this.#counts.set(place, added);
      (row.shapes ??= []).push(added);
    }
  }

  clear(): void {
    this.#numbers.clear();
    this.#counts.clear();
  }
}

function innerMap<V>(maps: Map<string, Map<string, V>>, key: string): Map<string, V> {
  let inner = maps.get(key);
  if (inner === undefined) maps.set(key, (inner = new Map<string, V>()));
  return inner;
}

function addName(names: Map<string, number>, name: string, requests: number): void {
  const known = names.get(name);
  const counted = known !== undefined || names.size < MAX_NAMES ? name : OTHER_NAMES;
  names.set(counted, (known ?? names.get(counted) ?? 0) + requests);
}
