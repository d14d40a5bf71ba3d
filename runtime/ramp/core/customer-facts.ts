import { ofProject, type ProjectTransaction } from "../database/transaction.js";

/** What providers receive about a customer. */
export interface CustomerFacts {
  readonly customerReference: string;
  /** As CAIP-10 accounts. */
  readonly wallets: readonly string[];
}

/** `CustomerFacts` of the row `c` of a customer, as SQL. */
export const CUSTOMER_FACTS = `c.reference AS "customerReference", ARRAY(SELECT w.subject FROM ramp.customer_identities w
  WHERE w.project_id = c.project_id AND w.customer_id = c.id AND w.is_wallet) AS wallets`;

export async function readCustomerFacts(tx: ProjectTransaction, customerId: string): Promise<CustomerFacts> {
  const text = `SELECT ${CUSTOMER_FACTS} FROM ramp.customers c WHERE ${ofProject("c")} AND c.id = $1`;
  const facts = await tx.row<CustomerFacts>(text, [customerId]);
  if (facts === null) throw new Error("The intent's customer does not exist.");
  return facts;
}
