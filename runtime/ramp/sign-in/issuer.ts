import type { RampDatabase } from "../database/ramp-database.js";
import type { OperatorTransaction } from "../database/transaction.js";

/**
 * The issuer of the deployment's tokens (runtime/ramp/docs/customers.md, Customer tokens): its address when it first started. Stored once,
 * so that tokens stay good and a wallet stays one identity when the address changes.
 */
export function storedIssuer(database: RampDatabase, publicUrl: string): Promise<string> {
  return database.asOperator(async (tx) => {
    const first = await tx.row(
      "INSERT INTO ramp.deployment (issuer) VALUES ($1) ON CONFLICT DO NOTHING RETURNING issuer",
      [publicUrl],
    );
    if (first !== null) await moveWallets(tx, walletIssuer(publicUrl));
    const stored = await tx.row<{ readonly issuer: string }>("SELECT issuer FROM ramp.deployment");
    return stored?.issuer ?? publicUrl;
  });
}

/** The issuer of wallet tokens. */
export function walletIssuer(issuer: string): string {
  return `${issuer}/v1/auth/wallet`;
}

/**
 * In a database of before, each address was an issuer of its own: a customer could have two wallets, and a wallet two customers. The
 * first stays.
 */
async function moveWallets(tx: OperatorTransaction, issuer: string): Promise<void> {
  await tx.rows(
    `DELETE FROM ramp.customer_identities w USING ramp.customer_identities o
     WHERE w.is_wallet AND o.is_wallet AND o.project_id = w.project_id AND (o.customer_id = w.customer_id OR o.subject = w.subject)
       AND (o.created_at, o.customer_id, o.issuer) < (w.created_at, w.customer_id, w.issuer)`,
  );
  await tx.rows("UPDATE ramp.customer_identities SET issuer = $1 WHERE is_wallet AND issuer <> $1", [issuer]);
}
