import type { Logger } from "../../core/http/logger.js";
import type { Endpoint } from "../../core/model/endpoint.js";
import {
  type DayState,
  DAY_STATES,
  type DaysByPath,
  type EndpointDay,
  HISTORY_DAYS,
} from "../../core/model/endpoint-days.js";
import { groupedBy } from "../../core/model/grouped.js";
import { Interval } from "../../core/model/timer.js";
import type { DataQuality } from "../../core/warehouse/data-quality.js";
import type { Due } from "../../core/warehouse/freshness-checks.js";
import { isMissing, UsageTable } from "./usage-table.js";

/** Servers look at their endpoints so often; the first time after dbt's results have been read. */
const LOOK_MS = 60_000;
/** So long a process shows what it last read. */
const KEPT_MS = 60_000;
/** Days of endpoints, former ones too, that are read: about 20 MB. */
const MAX_READ = 200_000;
/** Advisory lock for creating the table, as several replicas may start together. An arbitrary constant. */
const LOCK = 7_262_003;

interface EndpointDaysOptions {
  /** A `postgres://` address. */
  readonly databaseUrl: string;
  readonly active: {
    readonly current: { readonly endpoints: ReadonlyMap<string, { readonly spec: Endpoint }> };
  };
  readonly dueOf: (endpoint: Endpoint) => Due | null;
  readonly qualityOf: (endpoint: Endpoint) => DataQuality | null;
  readonly log: Pick<Logger, "warn">;
  /** Default: a minute. */
  readonly lookMs?: number;
}

/** What endpoints were on each day, in UTC, for all servers of an installation: a state counts that one server saw once. */
export class EndpointDays {
  readonly #options: EndpointDaysOptions;
  readonly #timer: Interval;
  #tables: Promise<UsageTable> | null = null;
  #day = "";
  /** States of this day by path that the table has. Bounded by the endpoints. */
  #written = new Map<string, readonly DayState[]>();
  #read: { readonly at: number; readonly days: Promise<DaysByPath> } | null = null;
  #last: DaysByPath | null = null;
  #recording: Promise<void> = Promise.resolve();
  #isFailing = false;

  constructor(options: EndpointDaysOptions) {
    this.#options = options;
    this.#timer = new Interval(options.lookMs ?? LOOK_MS, () => void this.record()).unref();
  }

  /** What was so far, by path, the last day first; null while it cannot be read. Never rejects. */
  async history(): Promise<DaysByPath | null> {
    const now = performance.now();
    if (this.#read === null || now - this.#read.at > KEPT_MS) this.#read = { at: now, days: this.#select() };
    try {
      this.#last = await this.#read.days;
    } catch {
      this.#read = null;
    }
    return this.#last;
  }

  /** Adds what endpoints are now. Never rejects: a lasting failure is logged once. */
  record(now = Date.now()): Promise<void> {
    this.#recording = this.#recording.then(() => this.#record(now));
    return this.#recording;
  }

  async close(): Promise<void> {
    this.#timer.stop();
    await this.#recording;
    await (await this.#tables?.catch(() => null))?.close();
  }

  /** It connects at its first use. */
  #opened(): Promise<UsageTable> {
    this.#tables ??= UsageTable.open(this.#options.databaseUrl).catch((error: unknown) => {
      this.#tables = null;
      throw error;
    });
    return this.#tables;
  }

  async #record(now: number): Promise<void> {
    const day = new Date(now).toISOString().slice(0, 10);
    if (day !== this.#day) this.#written = new Map();
    const added = this.#news(now);
    if (added.size === 0) return;
    const rows = [...added].map(([path, states]) => ({
      ...{ day, path },
      ...Object.fromEntries(DAY_STATES.map((state) => [state, states.includes(state)])),
    }));
    try {
      await this.#write(rows, day);
      for (const [path, states] of added) this.#written.set(path, states);
      this.#day = day;
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing) this.#options.log.warn({ err: error }, NOT_WRITTEN);
      this.#isFailing = true;
    }
  }

  /** Endpoints that are what they were not yet on this day, with all that they were. */
  #news(now: number): ReadonlyMap<string, readonly DayState[]> {
    const specs = [...this.#options.active.current.endpoints.values()].map(({ spec }) => spec);
    return new Map(
      specs.flatMap((spec) => {
        const before = this.#written.get(spec.path) ?? [];
        const seen = DAY_STATES.filter(
          (state) => before.includes(state) || this.#statesOf(spec, now).includes(state),
        );
        return seen.length > before.length ? [[spec.path, seen] as const] : [];
      }),
    );
  }

  #statesOf(spec: Endpoint, now: number): readonly DayState[] {
    const { dueOf, qualityOf } = this.#options;
    const isPromised = spec.freshness !== undefined;
    const isLate = isPromised && (dueOf(spec)?.due ?? -Infinity) < now;
    const is = { fresh: isPromised && !isLate, late: isLate, failed: qualityOf(spec)?.state === "failed" };
    return DAY_STATES.filter((state) => is[state]);
  }

  async #write(rows: readonly object[], day: string): Promise<void> {
    const tables = await this.#opened();
    const add = () => tables.query(ADD, [JSON.stringify(rows)]);
    await add().catch(async (error: unknown) => {
      if (!isMissing(error)) throw error;
      await tables.query(CREATE, []);
      await add();
    });
    if (day !== this.#day) await tables.query(CLEAN, []);
  }

  async #select(): Promise<DaysByPath> {
    const tables = await this.#opened();
    const rows = tables.query<EndpointDay & { readonly path: string }>(SELECT, [MAX_READ]);
    return groupedBy(await rows.catch(noneIfMissing), ({ path }) => path);
  }
}

function noneIfMissing(error: unknown): readonly [] {
  if (isMissing(error)) return [];
  throw error;
}

const NOT_WRITTEN = "the history of `/status` is not written: it is once the database takes it";

/** `CREATE SCHEMA IF NOT EXISTS` requires the CREATE privilege even when the schema exists. */
const CREATE = `DO $$ BEGIN
  PERFORM pg_advisory_xact_lock(${String(LOCK)});
  IF to_regnamespace('routewright') IS NULL THEN
    CREATE SCHEMA routewright;
  END IF;
  CREATE TABLE IF NOT EXISTS routewright.endpoint_days (
    day date NOT NULL,
    path text NOT NULL,
    fresh boolean NOT NULL,
    late boolean NOT NULL,
    failed boolean NOT NULL,
    PRIMARY KEY (day, path)
  );
END $$`;

const CLEAN = `DELETE FROM routewright.endpoint_days WHERE day < (now() AT TIME ZONE 'UTC')::date - ${String(HISTORY_DAYS)}`;

/** Sorted by key, so that replicas that write the same rows cannot deadlock. */
const ADD = `INSERT INTO routewright.endpoint_days AS known (day, path, fresh, late, failed)
  SELECT day, path, fresh, late, failed
  FROM json_to_recordset($1) AS r(day date, path text, fresh boolean, late boolean, failed boolean)
  ORDER BY day, path
  ON CONFLICT (day, path) DO UPDATE SET
    fresh = known.fresh OR excluded.fresh, late = known.late OR excluded.late, failed = known.failed OR excluded.failed`;

const SELECT = `SELECT path, to_char(day, 'YYYY-MM-DD') AS day, fresh, late, failed FROM routewright.endpoint_days
  WHERE day > (now() AT TIME ZONE 'UTC')::date - ${String(HISTORY_DAYS)}
  ORDER BY day DESC, path LIMIT $1`;
