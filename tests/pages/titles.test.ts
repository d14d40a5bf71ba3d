/** Titles of endpoints in words, where readers meet them. */
import { describe, expect, it } from "vitest";
import { endpointTitle, withoutPreamble } from "../../runtime/core/model/endpoint-title.js";
import { EXPOSURE } from "../metrics/exposure-tables.js";
import { manifestOf } from "../support/manifest.js";
import { serveManifest } from "../support/service.js";

const TAGS = ["production", "bridges"];
const COLUMNS = { day: "date", bridge: "text", volume_usd: "numeric", transfers: "bigint" };

const url = await serveManifest(
  manifestOf([
    {
      name: "made",
      tags: [...TAGS, "api:volume_per_bridge", "granularity:daily"],
      columns: COLUMNS,
      description: "This view provides the volume of each bridge.",
    },
    {
      name: "own",
      tags: [...TAGS, "api:volume", "granularity:weekly"],
      columns: COLUMNS,
      routewright: { title: "  Bridge volume\n per week, USD " },
    },
  ]),
);

const json = async (address: string): Promise<unknown> => (await fetch(address)).json();

interface Listed {
  readonly path: string;
  readonly title: string;
}

/** Titles by path, as the catalogue of a service has them. */
async function titlesAt(service: string): Promise<Readonly<Record<string, string>>> {
  const { endpoints } = (await json(`${service}/v1/system/catalogue`)) as { endpoints: readonly Listed[] };
  return Object.fromEntries(endpoints.map(({ path, title }) => [path, title]));
}

const TITLES = {
  "/v1/bridges/volume_per_bridge/daily": "Volume per bridge and day, USD",
  "/v1/bridges/volume/weekly": "Bridge volume per week, USD",
};

describe("the title of an endpoint", () => {
  it("is the project's own, else made of name, grain and unit, in the catalogue, OpenAPI and llms.txt", async () => {
    expect(await titlesAt(url)).toEqual(TITLES);
    const { paths } = (await json(`${url}/openapi.json`)) as {
      readonly paths: Readonly<Record<string, { readonly get: { readonly summary: string } }>>;
    };
    const llms = await (await fetch(`${url}/llms.txt`)).text();
    for (const [path, title] of Object.entries(TITLES)) {
      expect(paths[path]?.get.summary).toBe(title);
      expect(llms).toContain(`- [${title}](`);
    }
    expect(llms).toContain("/v1/bridges/volume_per_bridge/daily): The volume of each bridge.");
  });

  it("is the setting, else dbt's label of a metric and of a saved query", async () => {
    const named = structuredClone(EXPOSURE) as {
      metrics: Record<string, Named>;
      saved_queries: Record<string, Named>;
    };
    for (const [kind, nodes] of Object.entries({ metric: named.metrics, query: named.saved_queries }))
      for (const node of Object.values(nodes)) node.label = `The ${kind} ${node.name}`;
    const [own] = Object.values(named.saved_queries);
    if (own === undefined) throw new Error("The project has no saved query.");
    own.config.meta = { routewright: { title: "In our words" } };
    const titles = Object.values(await titlesAt(await serveManifest(named)));
    expect(titles).toContain("In our words");
    expect(titles.filter((title) => /^The (metric|query) \w+$/.test(title)).length).toBeGreaterThan(0);
  });
});

interface Named {
  readonly name: string;
  label?: string;
  readonly config: { meta?: Record<string, object> };
}

it.each([
  ["netflow", "last_7d", null, [], "Netflow, last 7 days"],
  ["volume_per_chain", "last_7d", "7d", [], "Volume per chain, last 7 days"],
  ["volume", "hourly", null, ["volume_eur"], "Volume per hour, EUR"],
  ["daily_active_users", "daily", null, [], "Daily active users"],
  ["fees_usd", "monthly", null, ["fees_usd"], "Fees USD per month"],
  ["avg_gas_price", "latest", null, [], "Average gas price, latest"],
  ["tokens", null, null, ["price_usd"], "Tokens"],
  ["__proto__", null, null, ["constructor"], "Proto"],
] as const)("names %s %s %s", (resource, granularity, window, columns, title) => {
  const described = columns.map((name) => ({ name }));
  expect(endpointTitle({ resource, granularity, window, columns: described })).toBe(title);
});

it.each([
  ["This view provides the volume.", "The volume."],
  ["The `api_volume_daily` model aggregates daily volumes.", "Daily volumes."],
  ["This dbt view calculates shares.", "Shares."],
  ["The volume of each bridge.", "The volume of each bridge."],
  ["This view is new.", "This view is new."],
  ["", ""],
])("a description %j says %j", (description, said) => {
  expect(withoutPreamble(description)).toBe(said);
});
