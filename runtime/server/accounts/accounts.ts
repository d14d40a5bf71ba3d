import type { DataRoute } from "../../core/handler/exchange.js";
import { OwnTables } from "../../postgres/own-tables.js";
import type { Plans } from "../../core/model/organization-plan.js";
import type { AccountHost, AccountPage } from "./page/account.js";
import type { SignInSettings } from "./page/sign-in.js";
import { describedPaths } from "./operators/describe.js";
import { operatorRoutes } from "./operators/routes.js";
import { StoredKeyReader, type StoredKeysOptions } from "./stored-keys.js";

/** A database that does not answer must not hold requests. */
const QUERY_TIMEOUT_MS = 5000;

/** What KEYS_DATABASE_URL adds to a server. */
export interface Accounts {
  readonly storedKeys: StoredKeyReader;
  readonly routes: readonly DataRoute[];
  /** What the OpenAPI document says of them, as `paths`. */
  readonly paths: Readonly<Record<string, object>>;
  close(): Promise<void>;
}

export interface AccountsOptions extends StoredKeysOptions {
  /** The issuer of the account page; null: there is none. */
  readonly account: SignInSettings | null;
  readonly host: AccountHost;
}

/** Rejects where the database refuses. Where it is away the server goes on without, and tries again. */
export async function openAccounts(options: AccountsOptions): Promise<Accounts> {
  const storedKeys = await StoredKeyReader.open(options);
  const { databaseUrl } = options;
  const tables = new OwnTables(databaseUrl, {
    name: "routewright accounts",
    queryTimeoutMs: QUERY_TIMEOUT_MS,
  });
  const plans = (): Plans => storedKeys.plans;
  const operators = operatorRoutes({ tables, plans, publicUrl: options.account?.publicUrl ?? null });
  const page =
    options.account === null ? [] : await pageRoutes(options.account, { ...options.host, tables, plans });
  const close = async (): Promise<void> => {
    await storedKeys.close();
    await tables.close();
  };
  return { storedKeys, routes: [...operators, ...page], paths: describedPaths(operators), close };
}

/** Loaded only where there is an issuer. Rejects where a package is missing. */
async function pageRoutes(
  account: SignInSettings,
  host: AccountHost & Pick<AccountPage, "tables" | "plans">,
): Promise<readonly DataRoute[]> {
  const { openAccountPage } = await import("./page/routes.js");
  return openAccountPage(account, host);
}
