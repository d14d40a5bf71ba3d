/** A folder that an earlier version generated may use the names of options: they keep their meaning there. */
import { describe, expect, it } from "vitest";
import { catalogueOf } from "../../generator/catalogue/build.js";
import { parseManifest } from "../../generator/manifest/manifest.js";
import { updateFolder } from "../../generator/output/folder.js";
import { render } from "../../generator/render/render.js";
import { databaseUrl, ownSchema } from "../support/database.js";
import { manifestOf } from "../support/manifest.js";
import { ownFolder, startFolder } from "../support/service.js";

const schema = await ownSchema(
  "CREATE TABLE @.sales (region text, level text, day date, rating text);" +
    "INSERT INTO @.sales VALUES ('EU', 'a', '2026-01-01', 1), ('EU', 'b', '2026-01-02', 2), ('US', 'a', '2025-01-01', 2)",
);

const DAYS = [
  { name: "start_date", column: "day", operator: ">=", type: "date" },
  { name: "end_date", column: "day", operator: "<=", type: "date" },
];
const orders = { agg: "count" };
const model = (name: string, parameters: readonly string[], aggregate: object) => ({
  name,
  schema,
  alias: "sales",
  columns: { region: "text", level: "text", day: "date", rating: "text" },
  api: {
    allow_unfiltered: true,
    parameters: [
      ...DAYS,
      ...parameters.map((each) => ({ name: each, column: "rating", operator: "=", type: "string" })),
    ],
  },
  routewright: { aggregate },
});

/** Names end with this where a newer generator refuses them. */
const EARLIER = "_of_earlier";
const earlier = (name: string): string => name + EARLIER;

/** What an earlier version made of a manifest. */
function renamed<T>(value: T): T {
  return JSON.parse(JSON.stringify(value).replaceAll(EARLIER, "")) as T;
}

const folder = ownFolder();
const reading = parseManifest(
  JSON.stringify(
    manifestOf(
      [
        model("parameters", ["top", "other", "totals", "compare"].map(earlier), {
          group_by: ["region"],
          measures: { orders },
        }),
        model("compare", [earlier("compare")], { group_by: ["region"], measures: { orders } }),
        model("measures", [], {
          group_by: ["region"],
          measures: { orders, [earlier("other")]: orders, [earlier("orders__change")]: orders },
        }),
        model("measured", [], { group_by: ["region"], measures: { [earlier("level")]: orders } }),
      ],
      { adapter_type: "postgres" },
    ),
  ),
  "manifest.json",
);
if (!reading.ok) throw new Error(reading.problems.join(" "));
const catalogue = catalogueOf(reading.value);
updateFolder(render({ ...catalogue, entries: renamed(catalogue.entries) }), { out: folder });
const { url } = await startFolder(folder, { DATABASE_URL: databaseUrl });

async function ask(request: string) {
  const response = await fetch(`${url}/v1/shop/${request}`);
  return [response.status, await response.json()];
}

const BY_REGION = "group_by=region&measures=orders";
const unsupported = (name: string) => [400, { detail: `Unsupported query parameters: ${name}` }];

describe("names of an earlier version", () => {
  it.each(["top", "other", "totals", "compare"])("%s is a parameter of the endpoint", async (name) => {
    expect(await ask(`parameters?${BY_REGION}&${name}=2`)).toEqual([
      200,
      [
        { region: "EU", orders: 1 },
        { region: "US", orders: 1 },
      ],
    ]);
    expect(await ask(`parameters?${BY_REGION}&${name}=1`)).toEqual([200, [{ region: "EU", orders: 1 }]]);
  });

  it("an option of another name stays one", async () => {
    expect(await ask(`compare?${BY_REGION}&compare=2&totals=true`)).toEqual([
      200,
      [
        { region: "EU", orders: 1, level: 1 },
        { region: "US", orders: 1, level: 1 },
        { region: null, orders: 2, level: 0 },
      ],
    ]);
  });

  it("an option is off that adds a column of a measure's name", async () => {
    expect(await ask("measures?group_by=region&measures=other")).toEqual([
      200,
      [
        { region: "EU", other: 2 },
        { region: "US", other: 1 },
      ],
    ]);
    expect(await ask("measures?group_by=region&top=1&sort_by=other")).toEqual([
      200,
      [{ region: "EU", orders: 2, other: 2, orders__change: 2 }],
    ]);
    expect(await ask(`measures?${BY_REGION}&top=1&sort_by=orders&other=true`)).toEqual(unsupported("other"));
    expect(
      await ask(`measures?${BY_REGION}&start_date=2026-01-01&end_date=2026-01-31&compare=previous_year`),
    ).toEqual(unsupported("compare"));
    expect(await ask("measured?group_by=region&totals=true")).toEqual(unsupported("totals"));
  });
});
