import type { Plans } from "../../../runtime/core/model/organization-plan.js";
import { expect } from "vitest";
import { ownDatabase, ownSchema } from "../../support/database.js";
import { type Reply, sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { generateInto, KEYS, ownFolder, startFolder } from "../../support/service.js";

/** The body of a response, whose fields a test knows. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Json = Record<string, any>;

export const SOON = { timeout: 90_000, interval: 200 };
export const PLANS: Plans = { free: { tier: "tier1", requestsPerMinute: 70 }, pro: { tier: "tier2" } };
export const OPERATOR = "sk_live_operator";
export const OTHER_OPERATOR = "sk_live_other_operator";

interface Sent {
  readonly key?: string;
  readonly idempotency?: string;
}

/** A service whose keys are in a database, and what operators ask of it. Each test file has its own: it ends with the file. */
export async function ownOperated() {
  const schema = await ownSchema(
    "CREATE TABLE @.sales AS SELECT org, n FROM (VALUES ('acme', 1), ('globex', 2)) AS v(org, n)",
  );
  const folder = ownFolder();
  generateInto(
    folder,
    manifestOf([
      {
        ...{ name: "sales", schema, tags: ["production", "shop", "api:sales", "tier1"] },
        columns: { org: "text", n: "int" },
        api: { allow_unfiltered: true },
        routewright: { rows: { column: "org", equals: "org" } },
      },
    ]),
    { plans: PLANS },
  );

  const database = await ownDatabase();
  const service = await startFolder(folder, {
    KEYS_DATABASE_URL: database,
    // Keys that the server does not know yet count as attempts.
    RATE_LIMITS: "tier0=1000000",
    API_KEYS: JSON.stringify({
      [KEYS.tier3]: "tier3",
      [KEYS.tier2]: { tier: "tier2", allowed: ["system"] },
      [OPERATOR]: { tier: "tier3", user: "ops", allowed: ["system"] },
      [OTHER_OPERATOR]: { tier: "tier3", user: "billing", allowed: ["system"] },
      sk_live_shop: { tier: "tier3", allowed: ["shop"] },
    }),
  });
  const call = async (
    method: string,
    path: string,
    body?: unknown,
    { key = OPERATOR, idempotency }: Sent = {},
  ) => {
    const headers = { ...(idempotency !== undefined && { "idempotency-key": idempotency }) };
    const reply = await sendRequest(service.url, `/v1/system${path}`, { method, key, headers, body });
    return { ...reply, json: (reply.text === "" ? {} : JSON.parse(reply.text)) as Json };
  };

  const made = async (path: string, body: unknown): Promise<Json> => {
    const { status, json, text } = await call("POST", path, body);
    expect([status, text]).toEqual([201, text]);
    return json;
  };

  const rowsOf = (key: string): Promise<Reply> => sendRequest(service.url, "/v1/shop/sales", { key });
  return { folder, database, service, call, made, rowsOf };
}
