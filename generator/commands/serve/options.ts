import { type Environment, openLog } from "@routewright/runtime/server";
import type { Settings } from "../../config.js";

export interface ServeOptions extends Pick<
  Settings,
  "catalog" | "severities" | "accept" | "minimumNoticeDays"
> {
  /** The generated folder. */
  readonly generated: string;
  /** Serve one of the two APIs alone. */
  readonly only?: "data" | "ramp";
  /** Follow the manifest that the environment or the config file names. */
  readonly watch: boolean;
  /** Processes that serve the data API; 1: this one serves all. */
  readonly workers: number;
}

/** What the servers keep on this machine: the embedded database, compiled routes, and the ramp's key beside them. */
export const DATA_DIR = ".data";

/**
 * Whether the ramp is served. It creates tables: in the embedded database always, in a named one only when its secrets
 * key is set too. A warehouse that is served alone gets none.
 */
export function isRampServed({ only }: ServeOptions, environment: Environment): boolean {
  if (only !== undefined) return only === "ramp";
  const { databaseUrl, rampDatabaseUrl, rampSecretsKey, logLevel } = environment;
  const isServed = (rampDatabaseUrl ?? databaseUrl) === null || rampSecretsKey !== null;
  if (!isServed)
    openLog(logLevel).info("the ramp is not served: set RAMP_SECRETS_KEY for it, or serve --only data");
  return isServed;
}
