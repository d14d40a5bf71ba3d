import {
  flag,
  listOf,
  name,
  oneOf,
  record,
  textOf,
  type ValueOf,
  wholeNumber,
} from "@routewright/runtime/internal/core/model/schema.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import currencyCodes from "currency-codes";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type pg from "pg";

/** The build does not copy the file: the compiled program reads it from the source folder. */
const DEFAULTS = fileURLToPath(
  new URL(
    import.meta.url.includes("/dist/") ? "../../database/assets.json" : "./assets.json",
    import.meta.url,
  ),
);

const Code = textOf({ pattern: "^[A-Z0-9]{2,15}$" });
const Chain = record(
  { code: Code, name, addressPattern: name },
  {
    /** What an account needs beside its address. */
    memo: record({
      field: oneOf(["memo", "tag"]),
      pattern: name,
      required: flag,
    }),
  },
);
const Asset = record({
  ticker: textOf({ pattern: "^[A-Za-z0-9]{1,10}$" }),
  name,
  decimals: wholeNumber(0, 18),
  chains: listOf(Code, { minItems: 1 }),
  /** Where the decimals come from. */
  source: name,
});
const Assets = record({ chains: listOf(Chain), assets: listOf(Asset) });

const isAssets = new Ajv2020().compile<ValueOf<typeof Assets>>(Assets);

function readAssets(file: string): ValueOf<typeof Assets> {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new Error(`The assets of ${file} cannot be read: ${(error as Error).message}`, { cause: error });
  }
  if (!isAssets(value))
    throw new Error(
      `${file} is not a file of assets: {"chains": [{code, name, addressPattern, memo?}], "assets": [{ticker, name, decimals, chains, source}]}.`,
    );
  return value;
}

/**
 * Writes the currencies: those of ISO 4217, the default assets (assets.json), and those of the operator's file, which win. Amounts that are
 * stored in an asset whose decimals change get its decimals, by value.
 */
export async function writeAssets(client: pg.Client, operatorsFile: string | null): Promise<void> {
  await client.query("BEGIN; SET LOCAL ramp.operator = 'on'");
  try {
    const fiat = currencyCodes.data.map(({ code, currency, digits }) => [code, code, currency, digits]);
    await client.query(
      `INSERT INTO ramp.currencies (code, ticker, name, decimals, type, source)
       SELECT code, ticker, name, decimals, 'FIAT', 'ISO 4217'
       FROM unnest($1::text[], $2::text[], $3::text[], $4::int[]) AS c (code, ticker, name, decimals) ON CONFLICT DO NOTHING`,
      [0, 1, 2, 3].map((column) => fiat.map((row) => row[column])),
    );
    await writeFile(client, DEFAULTS, false);
    if (operatorsFile !== null) await writeFile(client, operatorsFile, true);
    await client.query("COMMIT");
  } catch (error) {
    await client.query("ROLLBACK");
    throw error;
  }
}

async function writeFile(client: pg.Client, file: string, isOperators: boolean): Promise<void> {
  const { chains, assets } = readAssets(file);
  for (const { code, name, addressPattern, memo } of chains)
    await client.query(
      `INSERT INTO ramp.blockchains AS b (code, name, address_pattern, memo) VALUES ($1, $2, $3, $4)
       ON CONFLICT (code) DO UPDATE SET name = excluded.name, address_pattern = excluded.address_pattern, memo = excluded.memo WHERE $5`,
      [code, name, addressPattern, memo === undefined ? null : JSON.stringify(memo), isOperators],
    );
  for (const { ticker, name, decimals, chains: on, source } of assets)
    for (const chain of on) {
      const code = `${ticker}_${chain}`;
      const { rows } = await client.query<{ before: number | null }>(
        `WITH before AS (SELECT decimals FROM ramp.currencies WHERE code = $1)
         INSERT INTO ramp.currencies AS c (code, ticker, name, decimals, type, blockchain_id, source, is_operators)
         SELECT $1, $2, $3, $4, 'CRYPTO', b.id, $6, $7 FROM ramp.blockchains b WHERE b.code = $5
         ON CONFLICT (code) DO UPDATE SET name = excluded.name, decimals = excluded.decimals, source = excluded.source,
           is_operators = excluded.is_operators, updated_at = now()
         WHERE (excluded.is_operators OR NOT c.is_operators) AND (c.decimals, c.name, c.source, c.is_operators) IS DISTINCT FROM
           (excluded.decimals, excluded.name, excluded.source, excluded.is_operators)
         RETURNING (SELECT decimals FROM before) AS before`,
        [code, ticker, name, decimals, chain, source, isOperators],
      );
      const before = rows[0]?.before;
      if (before != null && before !== decimals) await rescale(client, code, decimals);
      const known = await client.query("SELECT FROM ramp.blockchains WHERE code = $1", [chain]);
      if (known.rows.length === 0)
        throw new Error(`${file}: the asset ${ticker} names the chain ${chain}, which is not described.`);
    }
}

/** A token that an operator's file can describe has up to so many decimals. */
const MOST_DECIMALS = 18;

/** A currency without a database: of ISO 4217, of the default assets, or a token that neither names. */
export function defaultCurrency(code: string) {
  const [ticker = "", chain] = code.split("_");
  if (chain === undefined)
    return { code, ticker, type: "FIAT", decimals: currencyCodes.code(code)?.digits ?? 2 } as const;
  const asset = readAssets(DEFAULTS).assets.find((known) => known.ticker === ticker);
  return { code, ticker, type: "CRYPTO", decimals: asset?.decimals ?? MOST_DECIMALS } as const;
}

/** An amount with the decimals `$2`; one with more digits cannot be stored so. */
const scaled = (amount: string): string => `round((${amount})::numeric, $2)`;
const amountText = (path: string, amount: string): string =>
  `jsonb_build_object('${path}', ${scaled(amount)}::text)`;
/** Fees with the decimals, where they are in the currency. */
const feesOf = (json: string): string =>
  `CASE WHEN ${json} -> 'fees' ->> 'currencyCode' = $1 THEN jsonb_build_object('fees', ${json} -> 'fees' || (
     SELECT jsonb_object_agg(f.key, ${scaled("f.value")}::text) FROM jsonb_each_text(${json} -> 'fees') f WHERE f.key <> 'currencyCode'))
   ELSE '{}' END`;

const OF_INTENT = "i.project_id = t.project_id AND i.id = t.intent_id";

/** Orders keep the bytes that were sent. */
const RESCALE = [
  `UPDATE ramp.intents SET src_amount = ${scaled("src_amount")} WHERE src_currency = $1`,
  `UPDATE ramp.intents SET price = price || ${amountText("destAmount", "price ->> 'destAmount'")} WHERE dest_currency = $1 AND price IS NOT NULL`,
  `UPDATE ramp.intents SET price = price || ${feesOf("price")} WHERE $1 IN (src_currency, dest_currency) AND price IS NOT NULL AND $2 >= 0`,
  `UPDATE ramp.transactions t SET receipt = receipt || ${amountText("amountReceived", "receipt ->> 'amountReceived'")} FROM ramp.intents i
   WHERE ${OF_INTENT} AND i.dest_currency = $1 AND receipt ? 'amountReceived'`,
  `UPDATE ramp.transactions t SET receipt = receipt || ${amountText("amountSent", "receipt ->> 'amountSent'")} FROM ramp.intents i
   WHERE ${OF_INTENT} AND i.src_currency = $1 AND receipt ? 'amountSent'`,
  `UPDATE ramp.transactions t SET receipt = receipt || ${feesOf("receipt")} FROM ramp.intents i
   WHERE ${OF_INTENT} AND $1 IN (i.src_currency, i.dest_currency) AND receipt ? 'fees'`,
  `UPDATE ramp.transactions t SET refunds = (SELECT jsonb_agg(r || ${amountText("amount", "r ->> 'amount'")}) FROM jsonb_array_elements(refunds) r)
   FROM ramp.intents i WHERE ${OF_INTENT} AND i.src_currency = $1 AND jsonb_array_length(refunds) > 0`,
  `UPDATE ramp.refund_requests t SET amount = ${scaled("amount")}, listed_amount = ${scaled("listed_amount")} FROM ramp.intents i WHERE ${OF_INTENT} AND i.src_currency = $1`,
] as const;

/** Gives stored amounts of a currency its new decimals. Postings are values, and are never changed. */
async function rescale(client: pg.Client, code: string, decimals: number): Promise<void> {
  const { rows } = await client.query(
    `SELECT FROM ramp.postings WHERE currency = $1 AND scale(trim_scale(amount)) > $2
     UNION ALL SELECT FROM ramp.intents WHERE src_currency = $1 AND scale(trim_scale(src_amount)) > $2
     UNION ALL SELECT FROM ramp.intents WHERE dest_currency = $1 AND scale(trim_scale((price ->> 'destAmount')::numeric)) > $2 LIMIT 1`,
    [code, decimals],
  );
  if (rows.length > 0)
    throw new Error(`${code} cannot have ${String(decimals)} decimals: amounts with more are stored.`);
  for (const statement of RESCALE) await client.query(statement, [code, decimals]);
}
