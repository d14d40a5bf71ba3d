/** Servers whose organization has a quota. */
import { KeyDatabase } from "../../../runtime/server/accounts/key-database.js";
import type { Plans } from "../../../runtime/core/model/organization-plan.js";
import { atEnd } from "../../support/at-end.js";
import { ownDatabase, queryAt } from "../../support/database.js";
import { post, sendRequest } from "../../support/http-client.js";
import { generateInto, ownFolder, startFolder } from "../../support/service.js";

export const UPGRADE = "https://example.com/plans";
export const PLANS: Plans = {
  small: { tier: "tier1", quota: { requests: 5 }, upgrade: UPGRADE },
  large: { tier: "tier1", quota: { requests: 100_000 } },
  rows: { tier: "tier1", quota: { rows: 25 } },
  "more rows": { tier: "tier1", quota: { rows: 1000, countNotModified: true } },
  "more bytes": { tier: "tier1", quota: { bytes: 10_000, countNotModified: true } },
  bytes: { tier: "tier1", quota: { bytes: 1000, countNotModified: true } },
};

/** Servers over one database of keys, with a key of the organization acme on a plan. */
export async function serveOnPlan(
  manifest: unknown,
  plan: string,
  servers = 1,
  variables: Readonly<Record<string, string>> = {},
) {
  const folder = ownFolder();
  generateInto(folder, manifest, { plans: PLANS });
  const databaseUrl = await ownDatabase();
  const store = await KeyDatabase.open(databaseUrl);
  atEnd(() => store.close());
  const made = await store.create({ tier: "tier2", user: "ann", org: "acme" });
  if (!made.ok) throw new Error(made.problems.join(" "));
  const { key } = made.value;
  await store.organizations.setPlan("acme", plan);
  const services: Awaited<ReturnType<typeof startFolder>>[] = [];
  for (let i = 0; i < servers; i++)
    services.push(await startFolder(folder, { KEYS_DATABASE_URL: databaseUrl, ...variables }));
  let served = 0;
  const ask = async (
    path = "/v1/shop/sales",
    headers: Readonly<Record<string, string>> = {},
    server = 0,
    body?: unknown,
  ) => {
    const url = services[server]?.url ?? "";
    const reply = await (body === undefined
      ? sendRequest(url, path, { key, headers })
      : post(url, path, body, { key, headers }));
    if (reply.status === 200) served++;
    return reply;
  };
  const used = async (): Promise<readonly number[]> => {
    const [row] = await queryAt(
      databaseUrl,
      'SELECT sum(requests) requests, sum(rows) "rows", sum(bytes) bytes FROM routewright_keys.month_use',
    );
    return [Number(row?.["requests"]), Number(row?.["rows"]), Number(row?.["bytes"])];
  };
  const query = (text: string) => queryAt(databaseUrl, text);
  const restart = async (): Promise<void> => {
    await Promise.all(services.map((service) => service.stop()));
    for (const at of services.keys())
      services[at] = await startFolder(folder, { KEYS_DATABASE_URL: databaseUrl });
  };
  return { store, services, ask, used, query, restart, served: () => served };
}
