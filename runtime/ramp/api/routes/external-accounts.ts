import { addExternalAccount, labelOf } from "../../external-account/external-account.js";
import { violations } from "../../schema/validate.js";
import { json } from "../answer.js";
import { isRefusal, refuse } from "../errors.js";
import { route } from "../route.js";
import { ExternalAccountsBody, ExternalAccountsView } from "../schemas.js";
import { externalAccountView } from "../views.js";
import { readPair, requirementsOf } from "./catalogue.js";

export const createExternalAccounts = route("customer", {
  method: "POST",
  path: "/v1/customers/external-accounts",
  summary: "Register a pair of external accounts for a currency pair",
  body: ExternalAccountsBody,
  answer: { status: 201, schema: ExternalAccountsView, description: "Both accounts." },
  refusals: ["UNKNOWN_CURRENCY", "UNSUPPORTED_PATH", "INVALID_ACCOUNT_DETAILS"],
  async handle({ ramp, caller, body }) {
    const pair = readPair(ramp, body.src, body.dest, ["/src", "/dest"]);
    if (isRefusal(pair)) return pair;
    const requirements = requirementsOf(await ramp.providers.list(caller.projectId), pair, {});
    if (isRefusal(requirements)) return requirements;
    const details = [
      ...violations(requirements.src.schema, body.source).map(({ path, message }) => ({
        path: `/source${path}`,
        message,
      })),
      ...violations(requirements.dest.schema, body.destination).map(({ path, message }) => ({
        path: `/destination${path}`,
        message,
      })),
    ];
    if (details.length > 0) return refuse("INVALID_ACCOUNT_DETAILS", { details });
    const { customerId } = caller;
    return ramp.database.inProject(caller.projectId, async (tx) => {
      const add = (metadata: Record<string, unknown>, currencyCode: string) =>
        addExternalAccount(tx, {
          customerId,
          currencyCode,
          metadata,
          label: labelOf(metadata, currencyCode),
        });
      const source = externalAccountView(await add(body.source, pair.src.code), pair.src);
      return json(201, {
        source,
        destination: externalAccountView(await add(body.destination, pair.dest.code), pair.dest),
      });
    });
  },
});
