import type { Currency } from "../../accounts/currency.js";
import { violations } from "../../json-schema.js";
import { jsonResponse, isRampError, rampError } from "../../ramp-errors.js";
import { route } from "../route.js";
import { type ExternalAccountView, ExternalAccountsBody, ExternalAccountsView } from "../schemas.js";
import { accountType } from "../intent-view.js";
import { readPair, requirementsOf } from "./catalogue.js";
import type { ProjectTransaction } from "../../database/ramp-database.js";
import { newId } from "../../database/id.js";

export const createExternalAccounts = route("customer", {
  method: "POST",
  path: "/v1/customers/external-accounts",
  summary: "Register a pair of external accounts for a currency pair",
  body: ExternalAccountsBody,
  answer: { status: 201, schema: ExternalAccountsView, description: "Both accounts." },
  errors: ["UNKNOWN_CURRENCY", "UNSUPPORTED_PATH", "INVALID_ACCOUNT_DETAILS"],
  async handle({ ramp, caller, body }) {
    const pair = readPair(ramp, body.src, body.dest, ["/src", "/dest"]);
    if (isRampError(pair)) return pair;
    const requirements = requirementsOf(await ramp.providers.list(caller.projectId), pair, {});
    if (isRampError(requirements)) return requirements;
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
    if (details.length > 0) return rampError("INVALID_ACCOUNT_DETAILS", { details });
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
      return jsonResponse(201, {
        source,
        destination: externalAccountView(await add(body.destination, pair.dest.code), pair.dest),
      });
    });
  },
});

export interface ExternalAccount {
  readonly id: string;
  readonly customerId: string;
  readonly currencyCode: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly label: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

async function addExternalAccount(
  tx: ProjectTransaction,
  account: Pick<ExternalAccount, "customerId" | "currencyCode" | "metadata" | "label">,
): Promise<ExternalAccount> {
  const now = new Date();
  const stored: ExternalAccount = { ...account, id: newId(), createdAt: now, updatedAt: now };
  await tx.rows(
    `INSERT INTO ramp.external_accounts (id, customer_id, currency_code, metadata, label, created_at, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6, $6)`,
    [stored.id, stored.customerId, stored.currencyCode, JSON.stringify(stored.metadata), stored.label, now],
  );
  return stored;
}

/** A label for an account that was given none: enough to tell it from others, too little to pay with. */
function labelOf(metadata: Readonly<Record<string, unknown>>, currencyCode: string): string {
  if (typeof metadata["label"] === "string") return metadata["label"];
  const number = ["accountNumber", "iban", "key", "address"]
    .map((name) => metadata[name])
    .find((value) => typeof value === "string");
  return number === undefined ? currencyCode : `${currencyCode} …${number.slice(-4)}`;
}

function externalAccountView(account: ExternalAccount, currency: Currency): ExternalAccountView {
  const { id, createdAt, updatedAt, metadata, label, customerId } = account;
  return {
    id,
    type: accountType(currency.type),
    currencyId: currency.id,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
    metadata: { ...metadata },
    label,
    customerId,
    currency: currencyView(currency),
  };
}

function currencyView(currency: Currency): ExternalAccountView["currency"] {
  const { id, ticker, name, code, decimals, type, createdAt, updatedAt, blockchain } = currency;
  const chain = blockchain && { id: blockchain.id, name: blockchain.name, code: blockchain.code };
  return {
    id,
    ticker,
    name,
    code,
    decimals,
    type,
    createdAt: createdAt.toISOString(),
    updatedAt: updatedAt.toISOString(),
    ...(chain ? { blockchainId: chain.id, blockchain: chain } : {}),
  };
}
