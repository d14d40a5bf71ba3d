import type { ProjectTransaction } from "../store/database.js";

export interface Blockchain {
  readonly id: string;
  readonly code: string;
  readonly name: string;
  /** What an address of the chain looks like, as a regular expression. */
  readonly addressPattern: string;
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

interface CurrencyRow {
  readonly id: string;
  readonly code: string;
  readonly ticker: string;
  readonly name: string;
  readonly decimals: number;
  readonly type: "FIAT" | "CRYPTO";
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly blockchain: { id: string; code: string; name: string; address_pattern: string } | null;
}

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

  /** A currency that a stored row names: it exists, the database sees to that. */
  get(code: string): Currency {
    const currency = this.find(code);
    if (currency === null) throw new Error(`The currency ${code} is not known.`);
    return currency;
  }
}

export async function readCurrencies(tx: Pick<ProjectTransaction, "rows">): Promise<Currencies> {
  const rows = await tx.rows<CurrencyRow>(
    `SELECT c.*, to_jsonb(b) AS blockchain FROM ramp.currencies c LEFT JOIN ramp.blockchains b ON b.id = c.blockchain_id`,
  );
  return new Currencies(rows.map(currencyOf));
}

function currencyOf({ created_at, updated_at, blockchain, ...row }: CurrencyRow): Currency {
  const chain = blockchain && {
    id: blockchain.id,
    code: blockchain.code,
    name: blockchain.name,
    addressPattern: blockchain.address_pattern,
  };
  const { id, code, ticker, name, decimals, type } = row;
  return {
    id,
    code,
    ticker,
    name,
    decimals,
    type,
    createdAt: created_at,
    updatedAt: updated_at,
    blockchain: chain,
  };
}
