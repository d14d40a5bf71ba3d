/** Assets, chains and decimals are data: the defaults, and a file of the operator's. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { migrate } from "../../../runtime/ramp/database/migrate.js";
import { ownFolder } from "../../support/service.js";
import { newCustomer, ownDatabase, ownWorld, queryAt, reached, WALLET } from "../support/world.js";

const world = await ownWorld();
await world.sandbox.set({ settleMs: 20 });

const assetsFile = (value: unknown): string => {
  const file = join(ownFolder(), "assets.json");
  writeFileSync(file, JSON.stringify(value));
  return file;
};
const decimalsOf = (url: string) =>
  queryAt(
    url,
    "SELECT code, decimals FROM ramp.currencies WHERE code LIKE 'EURe%' OR code LIKE '%SOLANA' ORDER BY code",
  );

it("the decimals of EURe are those of its contract, on every chain", async () => {
  expect((await decimalsOf(world.databaseUrl)).map(({ decimals }) => decimals)).toEqual([18, 18, 18]);
});

it("stored amounts get new decimals by value: of the intent, its price, its receipt and its refunds", async () => {
  const project = await world.project();
  const auth = await newCustomer(world, project);
  const create = async (src: object, dest: object, srcAmount: string): Promise<string> => {
    const { json, text } = await world.call("POST", "/v1/intent", {
      auth,
      body: { src, dest, srcAmount, autoExecute: true },
    });
    expect(json.intent, text).toBeDefined();
    await reached(world, `/v1/intent/${json.intent.id}`, { auth }, "COMPLETED");
    return String(json.intent.id);
  };
  const wallet = { currencyCode: "EURe_GNOSIS", details: { address: WALLET } };
  const details = {
    countryCode: "DE",
    rail: "SEPA",
    provider: "sandbox-south",
    iban: "DE89370400440532013000",
  };
  const bank = { currencyCode: "EUR", details };
  const [bought, sold] = [await create(bank, wallet, "20.00"), await create(wallet, bank, "20.5")];
  const before = await Promise.all(
    [bought, sold].map((id) => world.call("GET", `/v1/intent/${id}`, { auth })),
  );
  expect(before[1]?.json.intent.srcAmount).toBe("20.500000000000000000");
  const file = assetsFile({
    chains: [],
    assets: [{ ticker: "EURe", name: "Monerium EUR", decimals: 6, chains: ["GNOSIS"], source: "test" }],
  });
  // Amounts with more digits than six are never rounded.
  const received = String(before[0]?.json.transaction.context.receipt.amountReceived);
  if (!/^\d+\.\d{6}0{12}$/.test(received))
    await expect(migrate(world.databaseUrl, undefined, file)).rejects.toThrow(/cannot have 6 decimals/);
  else await migrate(world.databaseUrl, undefined, file);
  const text = before.map(({ text }) => text).join();
  expect(text).toMatch(/"amountReceived":"\d+\.\d{18}"/);
});

it("a database of before gets the decimals of EURe: amounts of six decimals become amounts of eighteen", async () => {
  const project = await world.project();
  const auth = await newCustomer(world, project);
  const url = world.databaseUrl;
  const src = { currencyCode: "EURe_POLYGON", details: { address: WALLET } };
  const details = {
    countryCode: "DE",
    rail: "SEPA",
    provider: "sandbox-south",
    iban: "DE89370400440532013000",
  };
  const body = { src, dest: { currencyCode: "EUR", details }, srcAmount: "20.5", autoExecute: true };
  const { json } = await world.call("POST", "/v1/intent", { auth, body });
  const path = `/v1/intent/${String(json.intent.id)}`;
  const now = await reached(world, path, { auth }, "COMPLETED");
  // As 0.1.0 stored them.
  await queryAt(url, "UPDATE ramp.currencies SET decimals = 6, source = NULL WHERE code = 'EURe_POLYGON'");
  await queryAt(
    url,
    `UPDATE ramp.intents SET src_amount = round(src_amount, 6),
       price = jsonb_set(price, '{fees,totalFee}', to_jsonb(round((price #>> '{fees,totalFee}')::numeric, 6)::text)) WHERE id = '${String(json.intent.id)}'`,
  );
  await queryAt(
    url,
    `UPDATE ramp.transactions SET receipt = jsonb_set(receipt, '{amountSent}', '"20.500000"') WHERE intent_id = '${String(json.intent.id)}'`,
  );
  const old = await world.call("GET", path, { auth });
  expect(old.json.intent.srcAmount).toBe("20.500000");
  await migrate(url);
  const { intent, transaction } = (await world.call("GET", path, { auth })).json;
  expect([intent.srcAmount, intent.price]).toEqual([now.json.intent.srcAmount, now.json.intent.price]);
  expect(transaction.context.receipt).toEqual(now.json.transaction.context.receipt);
});

it("an operator's file adds chains, assets and a memo, and wins over the defaults; a wrong one changes nothing", async () => {
  const url = await ownDatabase();
  const solana = { code: "SOLANA", name: "Solana", addressPattern: "^[1-9A-HJ-NP-Za-km-z]{32,44}$" };
  const memo = { field: "memo", pattern: "^.{1,28}$", required: true };
  const file = assetsFile({
    chains: [solana, { code: "STELLAR", name: "Stellar", addressPattern: "^G[A-Z2-7]{55}$", memo }],
    assets: [
      {
        ticker: "EURC",
        name: "Euro Coin",
        decimals: 6,
        chains: ["SOLANA", "STELLAR"],
        source: "https://developers.circle.com",
      },
    ],
  });
  await migrate(url, undefined, file);
  await migrate(url);
  expect(await decimalsOf(url)).toContainEqual({ code: "EURC_SOLANA", decimals: 6 });
  expect(await queryAt(url, "SELECT memo FROM ramp.blockchains WHERE code = 'STELLAR'")).toEqual([{ memo }]);
  const wrong = assetsFile({
    chains: [],
    assets: [{ ticker: "X", name: "X", decimals: 99, chains: ["SOLANA"], source: "x" }],
  });
  await expect(migrate(url, undefined, wrong)).rejects.toThrow(/is not a file of assets/);
  const lost = assetsFile({
    chains: [],
    assets: [{ ticker: "X", name: "X", decimals: 9, chains: ["NOWHERE"], source: "x" }],
  });
  await expect(migrate(url, undefined, lost)).rejects.toThrow(/names the chain NOWHERE/);
});
