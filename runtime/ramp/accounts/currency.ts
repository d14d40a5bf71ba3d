import type { ProjectTransaction } from "../database/transaction.js";
import { Amount, type AmountText } from "./amount.js";
import { failed, type Outcome, succeeded } from "@routewright/runtime/internal/core/model/outcome.js";

interface Blockchain {
  readonly id: string;
  readonly code: string;
  readonly name: string;
  /** What an address of the chain looks like, as a regular expression. */
  readonly addressPattern: string;
  /** What an account needs beside its address; null: nothing. */
  readonly memo: { readonly field: string; readonly pattern: string; readonly required: boolean } | null;
}

/** A currency: one of ISO 4217, or a token on a chain, whose code is `<TICKER>_<CHAIN>`. */
export interface Currency {
  readonly id: string;
  readonly code: string;
  readonly ticker: string;
  readonly name: string;
  readonly decimals: number;
  readonly type: "FIAT" | "CRYPTO";
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** Null for bank money. */
  readonly blockchain: Blockchain | null;
}

/** What checks of amounts need of a currency. */
export type CheckedCurrency = Pick<Currency, "code" | "ticker" | "decimals" | "type">;

/**
 * All currencies by code in upper case, read once: they change with migrations only. Callers may write a code in any
 * letter case.
 */
export class Currencies {
  readonly #byCode: ReadonlyMap<string, Currency>;

  constructor(currencies: readonly Currency[]) {
    this.#byCode = new Map(currencies.map((currency) => [currency.code.toUpperCase(), currency]));
  }

  find(code: string): Currency | null {
    return this.#byCode.get(code.toUpperCase()) ?? null;
  }

  /** A currency that a stored row names; a foreign key guarantees that it exists. */
  get(code: string): Currency {
    const currency = this.find(code);
    if (currency === null) throw new Error(`The currency ${code} is not known.`);
    return currency;
  }
}

export async function readCurrencies(tx: Pick<ProjectTransaction, "rows">): Promise<Currencies> {
  return new Currencies(
    await tx.rows<Currency>(
      `SELECT c.id, c.code, c.ticker, c.name, c.decimals, c.type, c.created_at AS "createdAt", c.updated_at AS "updatedAt",
         CASE WHEN b.id IS NOT NULL THEN
           json_build_object('id', b.id, 'code', b.code, 'name', b.name, 'addressPattern', b.address_pattern, 'memo', b.memo) END AS blockchain
       FROM ramp.currencies c LEFT JOIN ramp.blockchains b ON b.id = c.blockchain_id`,
    ),
  );
}

/** Whole digits that an amount may have: more than any money supply in any unit. */
const MAX_WHOLE_DIGITS = 30;

/** Reads a decimal text, whose pattern is checked before, as a positive amount with exactly the currency's decimals, such as `100.00`. */
export function readAmount(text: string, { code, decimals }: CheckedCurrency): Outcome<AmountText> {
  const [whole = "", fraction = ""] = text.split(".");
  if (fraction.length > decimals)
    return failed(`An amount in ${code} has at most ${String(decimals)} decimals.`);
  if (whole.replace(/^0+/, "").length > MAX_WHOLE_DIGITS) return failed("The amount is too large.");
  const amount = Amount.of(text);
  if (amount.isZero()) return failed("The amount must be more than zero.");
  return succeeded(amount.text(decimals));
}
