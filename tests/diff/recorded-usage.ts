import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { recordedDay, type UsageRow } from "../../runtime/server/operations/usage-row.js";
import { UsageTable } from "../../runtime/server/operations/usage-table.js";
import { routewright } from "../commands/run.js";
import { ownDatabase } from "../support/database.js";
import { manifestOf, type TestModel } from "../support/manifest.js";
import { ownFolder } from "../support/service.js";

const DAY_MS = 24 * 60 * 60_000;
const day = (before: number): string => new Date(Date.now() - before * DAY_MS).toISOString().slice(0, 10);
export const DAYS = Array.from({ length: 31 }, (_, i) => day(i));

export interface Calls {
  readonly route: string;
  readonly key?: string;
  readonly org?: string;
  readonly daysAgo?: number;
  readonly requests?: number;
  readonly parameters?: Readonly<Record<string, number>>;
  readonly shapes?: Map<string, number>;
}

function rowOf({
  route,
  key = "none",
  org = "",
  daysAgo = 3,
  requests = 10,
  parameters = {},
  shapes = new Map(),
}: Calls): UsageRow {
  const sums = { requests, refused: 0, errors: 0, rows: 0, bytes: 0 };
  const names = new Map(Object.entries(parameters));
  return {
    ...{ day: day(daysAgo), key, route, user: "", org, tier: "tier0", ...sums },
    lastSeen: Date.now() - daysAgo * DAY_MS,
    parameters: names,
    shapes: [...shapes].map(([name, count]) => ({ name, requests: count })),
  };
}

/** A database in which servers recorded calls, on all days if nothing else is said. */
export async function recordedIn(calls: readonly Calls[], days: readonly string[] = DAYS): Promise<string> {
  const url = await ownDatabase();
  const table = await UsageTable.open(url);
  await table.add([...calls.map(rowOf), ...days.map((each) => recordedDay(each))]);
  await table.close();
  return url;
}

export const orders: TestModel = {
  name: "orders",
  columns: { day: "date", symbol: "text", amount: "numeric(10,2)" },
  api: {
    allow_unfiltered: true,
    parameters: [
      { name: "symbol", column: "symbol", operator: "=", type: "string" },
      { name: "day", column: "day", operator: ">=", type: "date" },
    ],
    pagination: { enabled: true, default_limit: 10, max_limit: 100 },
    sort: [{ column: "day", direction: "ASC" }],
  },
  routewright: { fields: true, filters: ["amount"], former_paths: [{ path: "/v1/shop/old" }] },
};
export const ROUTE = "/v1/shop/orders";

/** The changes from the model to another, with what the database knows of them. */
export async function diffByUsage(head: readonly TestModel[], DATABASE_URL: string, config: object = {}) {
  const folder = ownFolder();
  writeFileSync(join(folder, "base.json"), JSON.stringify(manifestOf([orders])));
  writeFileSync(join(folder, "head.json"), JSON.stringify(manifestOf(head)));
  writeFileSync(join(folder, "routewright.config.json"), JSON.stringify(config));
  const args = ["diff", "base.json", "head.json", "--usage", "--format"];
  const { exit, out, err } = await routewright(folder, [...args, "json"], { DATABASE_URL });
  expect(err).toBe("");
  const { out: text } = await routewright(folder, [...args, "text"], { DATABASE_URL });
  const { out: markdown } = await routewright(folder, [...args, "markdown"], { DATABASE_URL });
  const { changes, usage } = JSON.parse(out) as {
    readonly changes: readonly FoundChange[];
    readonly usage?: object;
  };
  return { exit, changes, usage, text, markdown };
}

interface FoundChange {
  readonly kind: string;
  readonly subject: string | null;
  readonly severity: string;
  readonly endpoint: string;
  readonly usage?: { readonly state: string; readonly requests: number; readonly keys: readonly string[] };
}

export const hits = ({ changes }: { readonly changes: readonly FoundChange[] }) =>
  changes
    .filter(({ usage }) => usage !== undefined)
    .map(({ kind, usage }) => `${kind}: ${usage?.state ?? ""} ${String(usage?.requests ?? 0)}`);

/** The model without a parameter. */
export const withoutSymbol: TestModel = {
  ...orders,
  api: { ...(orders.api as object), parameters: [(orders.api as { parameters: unknown[] }).parameters[1]] },
};
