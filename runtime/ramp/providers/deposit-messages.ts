import {
  described,
  listOf,
  openRecord,
  textOf,
  type ValueOf,
} from "@routewright/runtime/internal/core/model/schema.js";
import { CallbackUrl, Code, AmountField, RateField, Id, Json, statuses } from "./message-fields.js";
import { Fees, Instruction, Rail } from "./protocol.js";

/** The messages about deposit accounts (protocol.ts). */

/** Why a payment to a deposit account goes back to its sender, with the words for people. */
export const DEPOSIT_RETURNS = {
  WRONG_CURRENCY: "The payment is not in the currency of the deposit account.",
  BELOW_MINIMUM: "The payment is less than the provider takes.",
  ABOVE_MAXIMUM: "The payment is more than the provider takes.",
  UNKNOWN_SENDER: "The provider takes no payment of this sender.",
  ACCOUNT_CLOSED: "The deposit account was closed when the payment arrived.",
  NOT_SERVED: "The provider cannot carry the payment out.",
} as const;
export type DepositReturn = keyof typeof DEPOSIT_RETURNS;
export const DEPOSIT_RETURN_REASONS = Object.keys(DEPOSIT_RETURNS) as readonly DepositReturn[];

const Side = (description: string) =>
  described(
    description,
    openRecord({
      currencyCode: Code("currency of the account"),
      details: Json("account fields of the rail, or the address on the chain"),
    }),
  );

export const DepositAccountOrder = openRecord({
  id: Id("id of the deposit account"),
  onboardingId: Id("id of an intent of the customer whose checks are complete"),
  customerReference: Id("the ramp's name of the customer towards providers"),
  type: statuses(["ONRAMP", "OFFRAMP"], "direction"),
  src: Side("what is paid in"),
  dest: Side("where each payment goes"),
  rail: Rail,
  callbackUrl: CallbackUrl,
});
export type DepositAccountOrder = ValueOf<typeof DepositAccountOrder>;

/** A payment that arrived. Its money is an execution of the provider's, under the same id. */
export const Deposit = openRecord(
  {
    id: textOf({
      pattern: "^[A-Za-z0-9_-]{1,128}$",
      description: "your id of the payment and of its execution, the same for ever",
    }),
    srcCurrencyCode: Code("currency that arrived"),
    srcAmount: AmountField("what arrived"),
  },
  {
    price: described(
      "price at arrival; without it the payment goes back to its sender",
      openRecord({
        destAmount: AmountField("what the destination receives"),
        exchangeRate: RateField("destination currency per unit of the source currency"),
        fees: Fees,
      }),
    ),
    returnReason: statuses(
      DEPOSIT_RETURN_REASONS,
      "why the payment goes back; without it and without a price: `NOT_SERVED`",
    ),
    reference: Id("reference that this payment alone has, such as the bank's or the hash of the transaction"),
  },
);
export type Deposit = ValueOf<typeof Deposit>;

export const DepositAccount = openRecord({
  id: Id("id of the deposit account"),
  status: statuses(["ACTIVE", "CLOSED"], "whether payments are carried out; after CLOSED they go back"),
  instructions: listOf(Instruction, {
    maxItems: 10,
    description: "where to pay, without an amount; they stay",
  }),
  deposits: listOf(Deposit, {
    maxItems: 100,
    description:
      "payments that arrived after that of the query parameter `after`, in a fixed order, the first ones; each once it has a price or goes back",
  }),
});
export type DepositAccount = ValueOf<typeof DepositAccount>;
