import { newId } from "../database/id.js";
import { type ProjectTransaction, OF_PROJECT } from "../database/ramp-database.js";

/** An account that a customer registered, to be named in intents by its id (runtime/ramp/docs/customers.md, External accounts). */
export interface ExternalAccount {
  readonly id: string;
  readonly customerId: string;
  readonly currencyCode: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly label: string;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

const COLUMNS = `id, customer_id AS "customerId", currency_code AS "currencyCode", metadata, label,
  created_at AS "createdAt", updated_at AS "updatedAt"`;

export function addExternalAccount(
  tx: ProjectTransaction,
  { customerId, currencyCode, metadata }: Pick<ExternalAccount, "customerId" | "currencyCode" | "metadata">,
): ExternalAccount {
  const { now } = tx;
  const label = labelOf(metadata, currencyCode);
  const id = newId();
  tx.write(
    `INSERT INTO ramp.external_accounts (id, customer_id, currency_code, metadata, label, created_at, updated_at)
     VALUES ($1, $2, $3, $4, $5, $6, $6)`,
    [id, customerId, currencyCode, JSON.stringify(metadata), label, now],
  );
  return { id, customerId, currencyCode, metadata, label, createdAt: now, updatedAt: now };
}

/** Default label of an account: enough to recognize it, too little to pay with. */
function labelOf(metadata: Readonly<Record<string, unknown>>, currencyCode: string): string {
  if (typeof metadata["label"] === "string") return metadata["label"];
  const number = ["accountNumber", "iban", "key", "address"]
    .map((name) => metadata[name])
    .find((value) => typeof value === "string");
  return number === undefined ? currencyCode : `${currencyCode} …${number.slice(-4)}`;
}

/** A customer's accounts with these ids; deleted ones and those of others are not found. */
export async function readExternalAccounts(
  tx: ProjectTransaction,
  customerId: string,
  ids: readonly string[],
): Promise<readonly ExternalAccount[]> {
  return tx.rows<ExternalAccount>(
    `SELECT ${COLUMNS} FROM ramp.external_accounts WHERE ${OF_PROJECT} AND customer_id = $1 AND id = ANY($2::uuid[]) AND deleted_at IS NULL`,
    [customerId, ids],
  );
}
