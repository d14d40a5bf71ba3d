import type { PerTier, Tier } from "../../model/tier.js";
import type { ClickhouseConnection } from "./connect.js";
import { ClickhouseError } from "./errors.js";
import { checkLimits, type ClickhouseLimits } from "./settings.js";
import type { ClickhouseServer } from "./connect.js";
import type { RoleSettings } from "./settings.js";

interface HealthOptions {
  readonly statementTimeoutMs: number;
  readonly streamTimeoutMs: Readonly<PerTier<number>>;
  readonly maxRowsRead: Readonly<PerTier<number>>;
  readonly warn: (error: Error, message: string) => void;
}

/** A health check waits so long for its query. */
const CHECK_LIMITS = { timeoutMs: 3000, isStillNeeded: () => true };

/** Whether the servers respond, and run the queries of the role. */
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
    const { servers, of } = this.#connection.up;
    if (this.#isRefused) return "The database refuses the queries of the role; the log has the reason.";
    return servers === of
      ? null
      : `${String(of - servers)} of ${String(of)} ClickHouse servers do not respond.`;
  }

  /** Whether a server responds, and runs queries of the role with the limits of each tier. */
  async check(): Promise<boolean> {
    const servers = await this.#connection.respondingServers();
    const answers = await Promise.allSettled(servers.map((server) => this.#checkRole(server)));
    const refusal = answers
      .map((answer) => (answer.status === "rejected" ? (answer.reason as unknown) : null))
      .find((reason) => reason instanceof ClickhouseError);
    if (refusal !== undefined && !this.#isRefused)
      this.#options.warn(refusal, "ClickHouse refuses the queries of the role");
    this.#isRefused = refusal !== undefined;
    return answers.some(({ status }) => status === "fulfilled");
  }

  async #checkRole(server: ClickhouseServer): Promise<void> {
    const statement = checkLimits((tier) => this.#limitsOf(tier));
    const settings = await this.#settings.toSend();
    await this.#connection.text({ statement, settings, limits: CHECK_LIMITS, server });
  }

  #limitsOf(tier: Tier): readonly ClickhouseLimits[] {
    const { maxRowsRead, statementTimeoutMs, streamTimeoutMs } = this.#options;
    const maxRows = maxRowsRead[tier];
    return [statementTimeoutMs, streamTimeoutMs[tier]].map((timeoutMs) => ({ tier, timeoutMs, maxRows }));
  }
}
