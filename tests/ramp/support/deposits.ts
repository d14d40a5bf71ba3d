/** Deposit accounts of a customer of the sandbox, and payments that arrive there. */
import { customerIdOf } from "../../../runtime/ramp/database/id.js";
import {
  eventually,
  newCustomer,
  onramp,
  type Reply,
  reached,
  type TestProject,
  WALLET,
  type World,
} from "./world.js";

/** An on-ramp from Sandbox South's bank account. */
export const ACCOUNT = {
  src: { currencyCode: "USD", details: { countryCode: "US", rail: "ACH" } },
  dest: { currencyCode: "USDC_POLYGON", details: { address: WALLET } },
};

export interface DepositCustomer {
  readonly project: TestProject;
  readonly customerId: string;
  readonly auth: string;
}

/** A customer whose checks are complete at Sandbox South. */
export async function checkedCustomer(world: World, name = "ada"): Promise<DepositCustomer> {
  const project = await world.project({ providers: ["sandbox-south"] });
  const auth = await newCustomer(world, project, name);
  const { json } = await world.call("POST", "/v1/intent", {
    auth,
    body: onramp({ srcAmount: "50.00", autoExecute: true }),
  });
  await reached(world, `/v1/intent/${String(json.intent.id)}`, { auth }, "COMPLETED");
  return { project, auth, customerId: customerIdOf(project.id, name) };
}

export const open = (
  world: World,
  auth: string,
  more: Readonly<Record<string, unknown>> = {},
  key?: string,
): Promise<Reply> =>
  world.call("POST", "/v1/customers/deposit-accounts", {
    auth,
    body: { ...ACCOUNT, ...more },
    ...(key !== undefined && { key }),
  });

/** Money arrives at the sandbox's bank. The provider's id of the payment. */
export async function arrive(
  { sandbox }: Pick<World, "sandbox">,
  depositAccountId: string,
  more: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const body = JSON.stringify({ depositAccountId, srcAmount: "100.00", ...more });
  const response = await fetch(`${sandbox.url}/deposits`, { method: "POST", body });
  if (!response.ok) throw new Error(await response.text());
  return ((await response.json()) as { id: string }).id;
}

/** The project's intents of an account, oldest first. */
export async function intentsOf(
  world: World,
  { project }: Pick<DepositCustomer, "project">,
  accountId: string,
) {
  const { json } = await world.call("GET", "/v1/intents?order=asc&limit=100", { auth: project.basic });
  return (json as Envelope[]).filter(({ intent }) => intent.deposit?.depositAccountId === accountId);
}

// Each test states what it expects of it.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Envelope = any;

/** Waits until the account has so many intents that have ended. */
export const ended = (
  world: World,
  customer: Pick<DepositCustomer, "project">,
  accountId: string,
  count: number,
) =>
  eventually(
    () => intentsOf(world, customer, accountId),
    (all) =>
      all.length === count &&
      all.every(({ intent }) => ["COMPLETED", "TRANSACTION_FAILED"].includes(intent.status)),
  );

/** What the journal holds of the intents of an account, by account of the journal and currency, without zeros. */
export async function balancesOf(world: World, accountId: string) {
  return world.rows(
    `SELECT p.account, p.currency, trim_scale(sum(p.amount))::text AS amount FROM ramp.postings p
     JOIN ramp.intents i ON i.project_id = p.project_id AND i.id = p.intent_id
     WHERE i.deposit_account_id = $1 GROUP BY 1, 2 HAVING sum(p.amount) <> 0 ORDER BY 1, 2`,
    [accountId],
  );
}
