import type { EventEmitter } from "node:events";
import type { Logger } from "../../server/logger.js";
import type { RampMetrics } from "./ramp-metrics.js";
import type { Currencies } from "../accounts/currency.js";
import type { PollingPolicy } from "../intents/lease.js";
import type { Providers } from "../providers/provider-connections.js";
import type { Vault } from "./vault.js";
import type { RampDatabase } from "../database/ramp-database.js";
import type { CustomerTokens } from "../sign-in/customer-token.js";
import type { WalletTokenContext } from "../sign-in/wallet-token.js";
import type { SubjectTokens } from "../sign-in/subject-token.js";

/** Shared by all parts of the service. */
export interface RampContext {
  readonly database: RampDatabase;
  readonly currencies: Currencies;
  readonly providers: Providers;
  readonly customerTokens: CustomerTokens;
  readonly subjectTokens: SubjectTokens;
  /** Signs wallet tokens. */
  readonly walletTokens: WalletTokenContext;
  readonly vault: Vault;
  readonly log: Logger;
  readonly metrics: RampMetrics;
  readonly polling: PollingPolicy;
  /** Address under which callers and customers reach the service, without a trailing slash. */
  readonly publicUrl: string;
  readonly now: () => Date;
  /** How long events, deliveries and provider answers are kept. */
  readonly retentionDays: number;
  /** `due`: an intent has become due. */
  readonly signals: EventEmitter<{ due: [] }>;
  /** Processing that goes on behind an answered request. */
  readonly continued: Set<Promise<unknown>>;
}
