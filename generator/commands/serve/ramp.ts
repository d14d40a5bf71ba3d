import { type Environment, openLog } from "@routewright/runtime/server";
import type { ServeFlags } from "./flags.js";

/**
 * The ramp keeps tables of its own. It makes them in the embedded database unasked, and in a named one when its secrets
 * key is set too: whoever serves a warehouse alone has not asked for them.
 */
export function isRampServed({ only }: ServeFlags, environment: Environment): boolean {
  if (only !== undefined) return only === "ramp";
  const { databaseUrl, rampDatabaseUrl, rampSecretsKey, logLevel } = environment;
  const isServed = (rampDatabaseUrl ?? databaseUrl) === null || rampSecretsKey !== null;
  if (!isServed)
    openLog(logLevel).info("the ramp is not served: set RAMP_SECRETS_KEY for it, or serve --only data");
  return isServed;
}
