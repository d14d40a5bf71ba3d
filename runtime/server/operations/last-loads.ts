import type { LoadedRelease } from "../../core/handler/loaded-release.js";
import type { Logger } from "../../core/http/logger.js";
import type { Endpoint } from "../../core/model/endpoint.js";
import { Interval } from "../../core/model/timer.js";
import type { BuildRecords } from "../../core/warehouse/data-versions.js";
import { dueOfCheck } from "../../core/warehouse/freshness-checks.js";
import type { LastLoad, Warehouse } from "../../core/warehouse/warehouse.js";

/** How often builds and bounds are looked at; that asks the database nothing. */
const CHECK_MS = 1000;
/** Rows that are late, or of which nothing is known, are asked for no sooner again. */
const PAUSE_MS = 60_000;
/** A statement may use this part of the time at most. */
const SHARE = 0.01;
/** Clocks that differ by less are taken for equal: all servers then name the same times. */
const CLOCK_MS = 60_000;

/** Of the machine, less the time that has passed: another number once it is set, or after the machine was suspended. */
const clockNow = (): number => Date.now() - performance.now();

interface AskedRelease extends Pick<LoadedRelease, "rowNodes"> {
  readonly endpoints: ReadonlyMap<string, { readonly spec: AskedEndpoint }>;
}

type AskedEndpoint = Pick<Endpoint, "path" | "relation" | "lastLoad" | "freshness">;

interface LastLoadsOptions {
  readonly active: { readonly current: AskedRelease };
  readonly builds: BuildRecords;
  readonly warehouse: Pick<Warehouse, "lastLoad">;
  readonly log: Pick<Logger, "warn">;
  /** Default: a minute. */
  readonly pauseMs?: number;
}

/** What the last statement for an endpoint was asked for. */
interface Asked {
  readonly what: string;
  /** On the clock of `performance.now`. */
  readonly notBefore: number;
  /** The machine's clock then (`clockNow`): of another one, a load's age is not known. */
  readonly clock: number;
}

/**
 * Asks the database when the rows of models were last loaded, by its own clock: once per build, and when a bound has passed. No request
 * causes a statement.
 */
export class LastLoads {
  readonly #options: LastLoadsOptions;
  readonly #timer: Interval;
  /** By path. Bounded by the endpoints. */
  #asked = new Map<string, Asked>();
  /** Paths whose failure was logged. Bounded by the endpoints. */
  #failing = new Set<string>();
  #checking: Promise<void> | null = null;
  #isClosed = false;

  constructor(options: LastLoadsOptions) {
    this.#options = options;
    this.#timer = new Interval(CHECK_MS, () => void this.check()).unref();
    void this.check();
  }

  /** Asks what is due. Never rejects. */
  check(): Promise<void> {
    this.#checking ??= this.#check().finally(() => (this.#checking = null));
    return this.#checking;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer.stop();
    await this.#checking;
  }

  async #check(): Promise<void> {
    const { active, builds } = this.#options;
    const { endpoints, rowNodes } = active.current;
    for (const { spec } of endpoints.values()) {
      const [node] = rowNodes.get(spec.path) ?? [];
      // A copy has the rows of its load: dbt's file says when those of the model were loaded.
      const isServed = node !== undefined && builds.loadsAt(spec.path) === undefined;
      if (spec.lastLoad === undefined || !isServed || this.#isClosed) continue;
      if (this.#isDue(spec, node)) await this.#ask(spec, node);
    }
  }

  #isDue(spec: AskedEndpoint, node: string): boolean {
    const asked = this.#asked.get(spec.path);
    if (asked?.what !== this.#whatOf(spec, node)) return true;
    if (Math.abs(clockNow() - asked.clock) > CLOCK_MS) return true;
    const check = this.#options.builds.checks.get(node);
    const { due, warnAt } = dueOfCheck(check);
    const isKnown = typeof check?.loadedAt === "number" && Math.min(due, warnAt) >= Date.now();
    return !isKnown && performance.now() >= asked.notBefore;
  }

  /** Changes with each build, and with what is asked. */
  #whatOf({ relation, lastLoad }: AskedEndpoint, node: string): string {
    return JSON.stringify([this.#options.builds.builds.get(node)?.completedAt, relation, lastLoad]);
  }

  async #ask(spec: AskedEndpoint, node: string): Promise<void> {
    const { path, relation, lastLoad, freshness } = spec;
    if (lastLoad === undefined) return;
    const [what, start] = [this.#whatOf(spec, node), performance.now()];
    const loadedAt = await this.#options.warehouse.lastLoad(relation, lastLoad).then(
      (load) => this.#known(path, load),
      (error: unknown) => this.#unknown(path, { err: error }),
    );
    const [end, { pauseMs = PAUSE_MS }] = [performance.now(), this.#options];
    const notBefore = end + Math.max(pauseMs, (end - start) / SHARE);
    this.#asked.set(path, { what, notBefore, clock: clockNow() });
    const { warnAfter = null, errorAfter = null } = freshness ?? {};
    this.#record({ node, loadedAt, warnAfter, errorAfter });
  }

  #record(found: Omit<Parameters<typeof dueOfCheck>[0] & object, "checkedAt">): void {
    const { builds } = this.#options;
    const { loadedAt, warnAfter, errorAfter, checkedAt: before = 0 } = builds.checks.get(found.node) ?? {};
    const isNews =
      loadedAt !== found.loadedAt || warnAfter !== found.warnAfter || errorAfter !== found.errorAfter;
    // Newer than what was known, also where the clock has been set back meanwhile.
    const checkedAt = Math.max(Date.now(), before + 1);
    if (isNews && !this.#isClosed) builds.record([], [], [{ ...found, checkedAt }]);
  }

  #known(path: string, { now, loadedAt }: LastLoad): number | null {
    if (loadedAt === null) return this.#unknown(path, {});
    this.#failing.delete(path);
    return loadedAt + Math.round((Date.now() - now) / CLOCK_MS) * CLOCK_MS;
  }

  #unknown(path: string, fields: object): null {
    if (!this.#failing.has(path) && !this.#isClosed) this.#options.log.warn({ path, ...fields }, NOT_KNOWN);
    this.#failing.add(path);
    return null;
  }
}

const NOT_KNOWN =
  "the last load of an endpoint's rows is not known: the statement of `loaded_at_field` or `loaded_at_query` failed or found none";
