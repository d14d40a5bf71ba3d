import type { Logger } from "@routewright/runtime/internal/core/http/logger.js";
import type { PublicNames } from "@routewright/runtime/internal/webhooks/public-names.js";
import type { Currencies } from "../accounts/currency.js";
import type { RampDatabase } from "../database/ramp-database.js";
import type { RampMetrics } from "./ramp-metrics.js";
import type { Vault } from "./vault.js";

/** What all parts of the service share. */
export interface CoreContext {
  readonly database: RampDatabase;
  readonly currencies: Currencies;
  readonly vault: Vault;
  readonly log: Logger;
  readonly metrics: RampMetrics;
  /** Look-ups of the names of webhooks, which projects choose. */
  readonly names: PublicNames;
  /** Address under which callers and customers reach the service, without a trailing slash. */
  readonly publicUrl: string;
  readonly now: () => Date;
}
