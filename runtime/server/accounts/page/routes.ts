import type { DataRoute } from "../../../core/handler/exchange.js";
import type { AccountPage } from "./account.js";
import { cookiesAt } from "./cookies.js";
import { requireClient, SignIn, type SignInSettings } from "./sign-in.js";
import { arrivalRoutes } from "./arrivals.js";
import { keyRoutes } from "./key-forms.js";
import { overviewRoute } from "./overview.js";
import { peopleRoutes } from "./people-forms.js";
import { usageRoute } from "./usage.js";

/** The paths of the account page. Rejects where the client's package is missing. */
export async function openAccountPage(
  account: SignInSettings,
  host: Omit<AccountPage, "signIn" | "cookies" | "publicUrl">,
): Promise<readonly DataRoute[]> {
  await requireClient();
  const { publicUrl } = account;
  return accountRoutes({ ...host, publicUrl, signIn: new SignIn(account), cookies: cookiesAt(publicUrl) });
}

function accountRoutes(page: AccountPage): readonly DataRoute[] {
  return [
    overviewRoute(page),
    ...arrivalRoutes(page),
    ...keyRoutes(page),
    ...peopleRoutes(page),
    usageRoute(page),
  ];
}
