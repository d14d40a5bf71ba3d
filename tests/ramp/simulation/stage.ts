import type { ProjectId } from "../../../runtime/ramp/database/id.js";
import type { RampDatabase } from "../../../runtime/ramp/database/ramp-database.js";
import type { IntentContext } from "../../../runtime/ramp/intents/lease.js";

/** What all runs share. */
export interface Stage {
  readonly projectId: ProjectId;
  /** Creates a customer of this run; its id. */
  customer(id: string): Promise<string>;
  /** What is stored that names the customer of an intent, by table. */
  traces(intentId: string, customerId: string): Promise<readonly string[]>;
  readonly connectionId: string;
  readonly database: RampDatabase;
  /** Moves the clock of the database and of the server. */
  advance(milliseconds: number): Promise<void>;
  /** The database's clock jumps; a server sees it when it notices. */
  jump(milliseconds: number): Promise<void>;
  notice(): Promise<void>;
  /** The rows of an intent, to be put back later. */
  backup(intentId: string): Promise<unknown>;
  restore(intentId: string, backup: unknown): Promise<void>;
  /** The same in a cluster without the role's rights, whose last event was that of the backup; then `migrate`. */
  restoreOnEmptyCluster(intentId: string, backup: unknown): Promise<void>;
  /** The sequence numbers of an intent's events. */
  sequences(intentId: string): Promise<readonly number[]>;
  readonly ramp: Omit<IntentContext, "providers" | "database">;
}
