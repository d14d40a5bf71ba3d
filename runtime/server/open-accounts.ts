import type { Logger } from "../core/http/logger.js";
import type { ActiveRelease } from "../core/handler/loaded-release.js";
import type { ApiAbout } from "../core/model/about.js";
import type { Accounts } from "./accounts/accounts.js";
import type { Environment } from "./operations/environment.js";
import type { Usage } from "./operations/usage.js";

interface AccountParts {
  readonly environment: Environment;
  readonly title: string;
  readonly about: ApiAbout;
  readonly active: ActiveRelease;
  readonly log: Logger;
}

/** The keys of KEYS_DATABASE_URL, beside those of the environment, and what manages them; null where it is not set. */
export async function openAccounts(
  { environment, title, about, active, log }: AccountParts,
  usage: Usage | null,
): Promise<Accounts | null> {
  const {
    keys,
    keysDatabaseUrl: databaseUrl,
    keysStaleSeconds: staleSeconds,
    account,
    rateLimits,
  } = environment;
  if (databaseUrl === null) return null;
  const { openAccounts } = await import("./accounts/accounts.js");
  const host = {
    ...{ title, about, rateLimits },
    endpoints: () => [...active.current.endpoints.values()].map(({ spec }) => spec),
    usageOf: (ids: readonly string[]) => usage?.useOf(ids) ?? Promise.resolve(null),
    eraseUsers: (ids: readonly string[]) => usage?.eraseUsers(ids) ?? Promise.resolve(),
  };
  const { plans } = active.current;
  const { UseReports } = await import("./accounts/use-reports.js");
  const reports = await UseReports.open(databaseUrl, log);
  const accounts = await openAccounts({ databaseUrl, staleSeconds, plans, reports, log, account, host });
  keys.setStored(accounts.storedKeys);
  return accounts;
}

/** Sends the use of organizations to METERING_URL; null where it is not set. */
export async function openPush(
  { keysDatabaseUrl, metering }: Environment,
  log: Logger,
): Promise<{ close(): Promise<void> } | null> {
  if (keysDatabaseUrl === null || metering === null) return null;
  const { MeteringPush } = await import("./accounts/metering-push.js");
  return new MeteringPush(keysDatabaseUrl, metering, log);
}
