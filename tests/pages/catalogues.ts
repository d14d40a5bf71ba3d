import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { ownSchema } from "../support/database.js";
import { manifestOf } from "../support/manifest.js";

const STARTER = fileURLToPath(new URL("../../templates/starter/manifest.json", import.meta.url));

interface Manifest {
  readonly nodes: Readonly<Record<string, unknown>>;
}

const CATEGORIES = [
  ...["accounts", "blocks", "bridging", "consensus", "contracts", "energy", "fees", "games", "governance"],
  ...[
    "lending",
    "markets",
    "names",
    "network",
    "oracles",
    "payments",
    "rewards",
    "staking",
    "swaps",
    "wallets",
  ],
];
const SUBJECTS = ["active_users", "volume_usd", "transactions", "balances", "holders"];
const GRANULARITIES = ["hourly", "daily", "weekly", "monthly", "latest"];

/** The starter's endpoints, and as many others as make 503. */
export async function largeManifest(): Promise<Manifest> {
  const starter = JSON.parse(readFileSync(STARTER, "utf8")) as Manifest;
  const schema = await ownSchema(
    `CREATE TABLE @.facts AS SELECT date '2024-01-01' + g AS day, (ARRAY['north', 'south', 'west'])[g % 3 + 1] AS region,
      ((g * 7919) % 10007) / 4.0 AS amount, g AS transactions FROM generate_series(0, 899) g`,
  );
  const others = manifestOf(
    CATEGORIES.flatMap((category) =>
      SUBJECTS.flatMap((subject) =>
        GRANULARITIES.map((granularity) => ({
          ...{ name: `api_${category}_${subject}_${granularity}`, schema, alias: "facts" },
          tags: [
            ...["production", category, "tier0", `api:${category}_${subject}`, `granularity:${granularity}`],
          ],
          columns: { day: "date", region: "text", amount: "numeric", transactions: "bigint" },
          description: `This view shows ${subject.replaceAll("_", " ")} of ${category} by region.`,
          routewright: { filters: ["day", "region"] },
          api: {
            allow_unfiltered: true,
            pagination: { enabled: true, default_limit: 100, max_limit: 1000 },
            sort: [{ column: "day", direction: "DESC" }],
          },
        })),
      ),
    ),
  ) as Manifest;
  return { ...starter, nodes: { ...starter.nodes, ...others.nodes } };
}
