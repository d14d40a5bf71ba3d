import {
  described,
  flag,
  listOf,
  oneOf,
  openRecord,
  orNull,
  record,
  text,
  textOf,
  time,
  type Schema,
  type ValueOf,
} from "@routewright/runtime/internal/core/model/schema.js";
import { DEPOSIT_ACCOUNT_STATUSES } from "../intents/deposit-account.js";
import { DEPOSIT_RETURN_REASONS } from "../providers/deposit-messages.js";
import { Instruction } from "../providers/protocol.js";
import { AccountBody, PAGE } from "./request-schemas.js";

/** Bodies and answers about deposit accounts (runtime/ramp/docs/deposit-accounts.md). */

const Uuid = textOf({ format: "uuid" });
const DateTime = time as Schema as Schema<Date>;

export const OpenDepositAccountBody = record(
  { src: AccountBody, dest: AccountBody },
  { providerId: orNull(textOf({ minLength: 1, maxLength: 64, description: "Preferred provider." })) },
  {
    examples: [
      {
        src: { currencyCode: "USD", details: { countryCode: "US", rail: "ACH" } },
        dest: {
          currencyCode: "USDC_POLYGON",
          details: { address: "0x52908400098527886E0F7030069857D2E4169EE7" },
        },
      },
    ],
  },
);
export type OpenDepositAccountBody = ValueOf<typeof OpenDepositAccountBody>;

export const DepositAccountsQuery = record({}, { customerId: Uuid, ...PAGE });

const Side = (currencyCode: string, details: object) => ({
  ...openRecord({
    currencyCode: text,
    details: { type: "object" } as Schema as Schema<Readonly<Record<string, unknown>>>,
  }),
  examples: [{ currencyCode, details }],
});

export const DepositAccountView = openRecord(
  {
    id: Uuid,
    customerId: Uuid,
    status: oneOf(DEPOSIT_ACCOUNT_STATUSES),
    type: oneOf(["ONRAMP", "OFFRAMP"]),
    src: Side("USD", { countryCode: "US", rail: "ACH" }),
    dest: Side("USDC_POLYGON", { address: "0x52908400098527886E0F7030069857D2E4169EE7" }),
    rail: text,
    provider: text,
    providerId: Uuid,
    providerCode: text,
    instructions: described(
      "Where to pay; they stay. Empty while the provider has not answered.",
      listOf(Instruction),
    ),
    createdAt: DateTime,
    updatedAt: DateTime,
  },
  {
    failureReason: text,
    closeRequested: described("true: it is being closed.", flag),
    sandbox: described("true: the provider moves no real money.", flag),
  },
  { $id: "DepositAccount" },
);
export type DepositAccountView = ValueOf<typeof DepositAccountView>;

/** What an intent says of the payment that it is. */
export const DepositView = described(
  "The payment to a deposit account that the intent is.",
  openRecord(
    { depositAccountId: Uuid, id: described("The provider's id of the payment.", text) },
    {
      reference: described("What the payment alone is known by, such as the bank's reference.", text),
      returnReason: described("Why it goes back to its sender.", oneOf(DEPOSIT_RETURN_REASONS)),
    },
  ),
);
