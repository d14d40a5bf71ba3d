import type { ProjectId } from "../../../runtime/ramp/database/id.js";
import type { RampDatabase } from "../../../runtime/ramp/database/ramp-database.js";
import type { Random } from "./random.js";
import type { IntentContext } from "../../../runtime/ramp/intents/lease.js";

/** What all runs share. */
export interface Stage {
  readonly projectId: ProjectId;
  /** Creates a customer of this run; its id. */
  customer(id: string): Promise<string>;
  /** What is stored that names the customer of intents and deposit accounts, by table. */
  traces(ids: readonly string[], customerId: string): Promise<readonly string[]>;
  readonly connectionId: string;
  readonly database: RampDatabase;
  /** Moves the clock of the database and of the server. */
  advance(milliseconds: number): Promise<void>;
  /** The database's clock jumps; a server sees it when it notices. */
  jump(milliseconds: number): Promise<void>;
  notice(): Promise<void>;
  /** The rows of intents and of deposit accounts, to be put back later. */
  backup(ids: readonly string[]): Promise<unknown>;
  /** Puts back the rows alone. */
  putBack(ids: readonly string[], backup: unknown): Promise<void>;
  /** The documented restore; the first intent then gets an event. */
  restore(ids: readonly string[], backup: unknown, given: RestoreSetting): Promise<string>;
  /** The sequence numbers of an intent's events. */
  sequences(intentId: string): Promise<readonly number[]>;
  /** How many intents a deposit account has. */
  depositIntents(accountId: string): Promise<number>;
  readonly ramp: Omit<IntentContext, "providers" | "database">;
}

interface RestoreSetting {
  /** Without the role's rights. */
  readonly isEmptyCluster: boolean;
  /** By how much the clock of the restored database is off. */
  readonly clockOffMs: number;
  /** Of what the operator says where the clocks contradict each other; `clock`: sets the clock right. */
  readonly says: "sequence" | "time" | "clock";
  readonly lastSent: number;
}

const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;

export function anyClock(random: Random): Pick<RestoreSetting, "clockOffMs" | "says"> {
  return {
    clockOffMs: random.pick([0, 0, 0, -30_000, -10 * 60_000, -25 * HOUR_MS, -2 * YEAR_MS, YEAR_MS]),
    says: random.pick(["sequence", "time", "clock"]),
  };
}
