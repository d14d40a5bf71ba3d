import type { PerTier, Tier } from "../../model/tier.js";
import type { ClickhouseConnection } from "./connect.js";
import { ClickhouseError, ServerUnresponsive } from "./errors.js";
import { checkLimits, type ClickhouseLimits } from "./settings.js";
import type { RoleSettings } from "./settings.js";

interface HealthOptions {
  readonly statementTimeoutMs: number;
  readonly streamTimeoutMs: Readonly<PerTier<number>>;
  readonly maxRowsRead: Readonly<PerTier<number>>;
  readonly warn: (error: Error, message: string) => void;
}

/** A health check waits so long for its query. */
const CHECK_LIMITS = { timeoutMs: 3000, isStillNeeded: () => true };

/** Whether the server responds, and runs the queries of the role. */
export class RoleHealth {
  readonly #connection: ClickhouseConnection;
  readonly #settings: RoleSettings;
  readonly #options: HealthOptions;
  #isRefused = false;

  constructor(connection: ClickhouseConnection, settings: RoleSettings, options: HealthOptions) {
    this.#connection = connection;
    this.#settings = settings;
    this.#options = options;
  }

  get degraded(): string | null {
    return this.#isRefused ? "The database refuses the queries of the role; the log has the reason." : null;
  }

  /** Whether the server responds, and runs queries of the role with the limits of each tier. */
  async check(): Promise<boolean> {
    const failure = (await this.#connection.isUp())
      ? await this.#checkRole().catch((error: unknown) => error as Error)
      : new ServerUnresponsive();
    const isRefused = failure instanceof ClickhouseError;
    if (isRefused && !this.#isRefused)
      this.#options.warn(failure, "ClickHouse refuses the queries of the role");
    this.#isRefused = isRefused;
    return failure === undefined;
  }

  async #checkRole(): Promise<undefined> {
    const statement = checkLimits((tier) => this.#limitsOf(tier));
    const settings = await this.#settings.toSend();
    await this.#connection.text({ statement, settings, limits: CHECK_LIMITS });
  }

  #limitsOf(tier: Tier): readonly ClickhouseLimits[] {
    const { maxRowsRead, statementTimeoutMs, streamTimeoutMs } = this.#options;
    const maxRows = maxRowsRead[tier];
    return [statementTimeoutMs, streamTimeoutMs[tier]].map((timeoutMs) => ({ tier, timeoutMs, maxRows }));
  }
}
