import type { ProjectTransaction } from "../store/database.js";
import { newId } from "../store/id.js";

export interface ExternalAccount {
  readonly id: string;
  readonly customerId: string;
  readonly currencyCode: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly label: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export async function addExternalAccount(
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
export function labelOf(metadata: Readonly<Record<string, unknown>>, currencyCode: string): string {
  if (typeof metadata["label"] === "string") return metadata["label"];
  const number = ["accountNumber", "iban", "key", "address"]
    .map((name) => metadata[name])
    .find((value) => typeof value === "string");
  return number === undefined ? currencyCode : `${currencyCode} …${number.slice(-4)}`;
}
