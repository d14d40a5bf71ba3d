import { execFile } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import openapiTS, { astToString } from "openapi-typescript";
import { promisify } from "node:util";
import { beforeAll, expect, it } from "vitest";
import { compiled } from "../../end-to-end/compile.js";
import { needs } from "../../support/needs.js";
import { ownFolder } from "../../support/service.js";
import { ownWorld } from "../support/world.js";

/** Clients made from the document take an on-ramp to COMPLETED, without a type written by hand. */

const world = await ownWorld();
await world.sandbox.set({ settleMs: 50 });
const project = await world.project({ providers: ["sandbox-south"] });
const folder = ownFolder();
const root = join(import.meta.dirname, "../../..");

/** Each `@ts-expect-error` is a promise of the document that must hold too. */
const CLIENT = `
import createClient from "openapi-fetch";
import type { paths } from "./api.js";

export async function run(baseUrl: string, basic: string) {
  const asProject = { Authorization: basic };
  const client = createClient<paths>({ baseUrl });

  const customer = await client.POST("/v1/customers", { headers: asProject, body: { id: "typed" } });
  const asCustomer = { Authorization: "Bearer " + (customer.data?.accessToken ?? "") };

  const quotes = await client.GET("/v1/intent/quote", {
    headers: asCustomer,
    params: { query: { srcCurrencyCode: "USD", destCurrencyCode: "USDC_POLYGON", srcAmount: "50.00", countryCode: "US" } },
  });
  const quoteId: string | undefined = quotes.data?.quotes[0]?.id;
  const made = await client.POST("/v1/intent", {
    headers: asCustomer,
    body: {
      src: { currencyCode: "USD", details: { countryCode: "US", rail: "ACH" } },
      dest: { currencyCode: "USDC_POLYGON", details: { address: "0x52908400098527886E0F7030069857D2E4169EE7" } },
      srcAmount: "50.00",
      autoExecute: true,
      ...(quoteId === undefined ? {} : { quoteId }),
    },
  });
  const id = made.data?.intent.id ?? "";
  const checkout: string | undefined = made.data?.checkoutUrl;

  let status = made.data?.intent.status;
  let received: string | undefined;
  while (status !== "COMPLETED" && status !== "TRANSACTION_FAILED") {
    await new Promise((resolve) => setTimeout(resolve, 100));
    const { data } = await client.GET("/v1/intent/{id}", { headers: asCustomer, params: { path: { id } } });
    status = data?.intent.status;
    received = data?.transaction?.context.receipt?.amountReceived;
  }

  const refused = await client.GET("/v1/intent/{id}", { headers: asCustomer, params: { path: { id: "x" } } });
  const code: string | undefined = refused.error?.error;

  // @ts-expect-error: no such status
  void (() => status === "DONE");
  // @ts-expect-error: no such parameter
  void (() => client.GET("/v1/intents", { params: { query: { nope: "1" } } }));
  // @ts-expect-error: an amount is a text
  void (() => client.POST("/v1/intents/{id}/refund", { params: { path: { id } }, body: { reason: "x", amount: 1 } }));

  return { quoteId, checkout, status, received, code };
}
`;

beforeAll(async () => {
  const document = (await world.call("GET", "/openapi.json")).text;
  writeFileSync(join(folder, "openapi.json"), document);
  writeFileSync(join(folder, "api.d.ts"), astToString(await openapiTS(document)));
  writeFileSync(join(folder, "client.ts"), CLIENT);
  writeFileSync(join(folder, "package.json"), '{"type": "module"}');
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
});

it("a client of openapi-typescript compiles under strict and runs an on-ramp", async () => {
  type Run = (baseUrl: string, basic: string) => Promise<Record<string, unknown>>;
  const run = await compiled<Run>(folder, "client.ts");
  expect(await run(world.url, project.basic)).toEqual({
    quoteId: expect.any(String),
    checkout: expect.stringContaining("/onboarding/"),
    status: "COMPLETED",
    received: "48.700000",
    code: "NOT_FOUND",
  });
});

const PYTHON = `
import json, sys, time
from client import AuthenticatedClient
from client.api.customers import post_customers
from client.api.intent import get_intent_id, get_intent_quote, post_intent
from client.models import PostCustomersBody, PostIntentBody

url, basic = sys.argv[1:]
project = AuthenticatedClient(url, basic.removeprefix("Basic "), prefix="Basic", raise_on_unexpected_status=True)
customer = post_customers.sync(client=project, body=PostCustomersBody.from_dict({"id": "python"}))
mine = AuthenticatedClient(url, customer.access_token, raise_on_unexpected_status=True)
path = {"src_currency_code": "USD", "dest_currency_code": "USDC_POLYGON", "src_amount": "50.00", "country_code": "US"}
[quote] = get_intent_quote.sync(client=mine, **path).quotes
body = PostIntentBody.from_dict({
    "src": {"currencyCode": "USD", "details": {"countryCode": "US", "rail": "ACH"}},
    "dest": {"currencyCode": "USDC_POLYGON", "details": {"address": "0x52908400098527886E0F7030069857D2E4169EE7"}},
    "srcAmount": "50.00", "autoExecute": True, "quoteId": str(quote.id),
})
made = post_intent.sync(client=mine, body=body)
while made.intent.status != "COMPLETED":
    time.sleep(0.1)
    made = get_intent_id.sync(str(made.intent.id), client=mine)
print(json.dumps({"status": str(made.intent.status), "received": made.transaction.context.receipt.amount_received}))
`;

it.skipIf(!needs("openapi-python-client"))("a client of openapi-python-client runs an on-ramp", async () => {
  const run = promisify(execFile);
  const options = ["--meta", "none", "--output-path", "client"];
  const generated = await run("openapi-python-client", ["generate", "--path", "openapi.json", ...options], {
    cwd: folder,
  });
  // Operations that it leaves out are warnings.
  expect(generated.stdout + generated.stderr).not.toMatch(/warning/i);
  writeFileSync(join(folder, "program.py"), PYTHON);
  const { stdout } = await run("python3", ["program.py", world.url, project.basic], {
    cwd: folder,
    env: process.env,
  });
  expect(JSON.parse(stdout)).toEqual({ status: "COMPLETED", received: "48.700000" });
});
