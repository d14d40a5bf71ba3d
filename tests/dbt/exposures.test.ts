import { describe, expect, it } from "vitest";
import { run } from "../support/command.js";
import { ownSchema } from "../support/database.js";
import { DbtProject } from "../support/dbt.js";
import { needs } from "../support/needs.js";

const tags = (resource: string, ...more: readonly string[]): object => ({
  tags: ["production", "shop", `api:${resource}`, ...more],
});

/** A project with a model of each kind that an exposure can name, whose texts look like templates. */
async function start() {
  const project = new DbtProject(await ownSchema("SELECT 1"), {
    "models/orders.sql": "select 1 as id, 2 as amount, current_date as sold_on",
    "models/daily_v1.sql": "select 1 as id",
    "models/daily_v2.sql": "select 1 as id, 2 as n",
    "models/inner.sql": "select 1 as id",
    "models/days.sql": "select current_date as date_day",
    "models/models.yml": JSON.stringify({
      groups: [{ name: "core", owner: { email: "core@example.org" } }],
      models: [
        {
          name: "orders",
          description: '{% raw %}Orders: {{ as }} {% typed %} {# here #}{% endraw %} "quoted"',
          config: { ...tags("orders"), meta: { owner: { email: "orders@example.org" } } },
          columns: [{ name: "id", data_type: "integer" }],
        },
        {
          name: "daily",
          latest_version: 2,
          columns: [{ name: "id", data_type: "integer" }],
          versions: [
            { v: 1, config: { ...tags("daily"), meta: { routewright: { stability: "preview" } } } },
            { v: 2, config: tags("daily_2") },
          ],
        },
        { name: "inner", config: { ...tags("inner"), group: "core", access: "private" } },
        {
          name: "days",
          time_spine: { standard_granularity_column: "date_day" },
          columns: [{ name: "date_day", granularity: "day" }],
        },
      ],
      semantic_models: [
        {
          name: "orders",
          model: "ref('orders')",
          defaults: { agg_time_dimension: "sold_on" },
          entities: [{ name: "order", type: "primary", expr: "id" }],
          dimensions: [{ name: "sold_on", type: "time", type_params: { time_granularity: "day" } }],
          measures: [{ name: "amount", agg: "sum" }],
        },
      ],
      metrics: [
        {
          name: "revenue",
          label: "Revenue",
          type: "simple",
          type_params: { measure: "amount" },
          config: tags("revenue"),
        },
      ],
      saved_queries: [
        {
          name: "by_day",
          query_params: { metrics: ["revenue"], group_by: ["TimeDimension('metric_time', 'day')"] },
          config: tags("by_day"),
        },
      ],
    }),
  });
  const parsed = await project.run("parse");
  expect(parsed.output).not.toContain("Error");
  return project;
}

interface Exposed {
  readonly exposures: Readonly<
    Record<
      string,
      {
        readonly name: string;
        readonly url: string | null;
        readonly description: string;
        readonly owner: object;
        readonly maturity: string | null;
        readonly depends_on: { readonly nodes: readonly string[] };
      }
    >
  >;
}

const project = needs("dbt") ? await start() : null;

describe.skipIf(project === null)("exposures of the API, as dbt reads them", () => {
  const { folder, manifestFile } = project ?? ({} as NonNullable<typeof project>);
  const print = (...args: readonly string[]) =>
    run(folder, ["exposures", "--manifest", manifestFile, ...args], { API_TITLE: "Shop's API" });
  const parsed = async (yaml: string) => {
    project?.write({ "models/exposures.yml": yaml });
    const { code, output } = (await project?.run("parse", "--warn-error")) ?? {};
    expect([code, output]).toEqual([0, expect.anything()]);
    return Object.values((project?.manifest as Exposed).exposures);
  };

  it("name all that the API reads, but private models", async () => {
    const { stdout: out, stderr: err } = await print(
      "--owner",
      "Data team",
      "--url",
      "https://api.example.org/",
    );
    expect(err).toContain("note: model.shop.inner has `access: private`");
    expect(await parsed(out)).toMatchObject([
      {
        name: "shop_s_api",
        url: "https://api.example.org",
        owner: { name: "Data team" },
        depends_on: {
          nodes: ["model.shop.daily.v1", "model.shop.daily.v2", "model.shop.orders", "metric.shop.revenue"],
        },
      },
    ]);
  });

  it("are one per endpoint, with its owner, its text as written and its address", async () => {
    const { stdout: out } = await print(
      "--per",
      "endpoint",
      "--owner",
      "data@example.org",
      "--url",
      "https://api.example.org",
    );
    const exposures = await parsed(out);
    expect(exposures.map(({ name, depends_on: { nodes } }) => [name, nodes]).sort()).toEqual([
      ["shop_s_api_v1_shop_by_day", ["metric.shop.revenue"]],
      ["shop_s_api_v1_shop_daily", ["model.shop.daily.v1"]],
      ["shop_s_api_v1_shop_daily_2", ["model.shop.daily.v2"]],
      ["shop_s_api_v1_shop_inner", []],
      ["shop_s_api_v1_shop_orders", ["model.shop.orders"]],
      ["shop_s_api_v1_shop_revenue", ["metric.shop.revenue"]],
    ]);
    const of = (name: string) => exposures.find((each) => each.name === `shop_s_api_v1_shop_${name}`);
    expect(of("orders")).toMatchObject({
      url: "https://api.example.org/v1/shop/orders",
      description: 'Orders: { { as }} { % typed %} { # here #} "quoted"',
      owner: { email: "orders@example.org" },
      maturity: null,
    });
    expect(of("daily")).toMatchObject({ owner: { email: "data@example.org" }, maturity: "low" });
    expect(of("inner")).toMatchObject({ owner: { name: "core" } });
  });

  it("need an owner", async () => {
    const { code, stderr: err } = await print();
    expect(code).toBe(2);
    expect(err).toContain("An exposure needs an owner");
    expect(err).toContain("--owner");
  });
});
