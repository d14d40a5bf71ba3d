import type { Logger } from "../http/logger.js";
import type { Currencies } from "./currency/currency.js";
import type { Rhythm } from "./intent/attention.js";
import type { Providers } from "./provider/connections.js";
import type { Vault } from "./secrets/vault.js";
import type { RampDatabase } from "./store/database.js";
import type { CustomerTokens } from "./token/customer-token.js";
import type { SigningKeys } from "./token/signing-keys.js";
import type { SubjectTokens } from "./token/subject-token.js";

/** What all parts of the service share. */
export interface Ramp {
  readonly database: RampDatabase;
  readonly currencies: Currencies;
  readonly providers: Providers;
  readonly customerTokens: CustomerTokens;
  readonly subjectTokens: SubjectTokens;
  /** What signs wallet tokens. */
  readonly walletTokens: {
    readonly database: RampDatabase;
    readonly keys: SigningKeys;
    readonly issuer: string;
  };
  readonly vault: Vault;
  readonly log: Logger;
  readonly rhythm: Rhythm;
  /** Address under which callers and customers reach the service, without a slash at its end. */
  readonly publicUrl: string;
  readonly now: () => Date;
}
