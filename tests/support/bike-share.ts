/**
 * The manifest of a dbt project about a bike-share system, written by hand: small, and with what real catalogues have.
 * `spring` and `autumn` are two states of the project, half a year apart.
 */
type Season = "spring" | "autumn";

type Columns = Readonly<Record<string, string>>;

interface ModelOptions {
  readonly columns?: Columns;
  readonly api?: unknown;
  readonly materialized?: string;
  readonly parents?: readonly string[];
  /** Columns with private data. */
  readonly pii?: readonly string[];
  readonly sql?: string;
}

const STATION: Columns = { station_id: "UUID", station: "Nullable(String)", borough: "Nullable(String)" };

const borough = { name: "borough", column: "borough", operator: "=", type: "string", case: "lower" };
const search = { name: "station", column: "station", operator: "ILIKE", type: "string" };
const from = { name: "start_date", column: "day", operator: ">=", type: "date", description: "First day." };
const until = { name: "end_date", column: "day", operator: "<=", type: "date", description: "Last day." };
const page = { enabled: true, default_limit: 100, max_limit: 1000 };
const byDay = { sort: [{ column: "day", direction: "DESC" }], sortable_fields: ["day"] };
const listOf = (name: string, description = "") => ({
  name,
  column: name,
  operator: "IN",
  type: "string_list",
  max_items: 20,
  description,
});

/** A figure per day: the endpoint that most projects have most of. */
const daily = (columns: Columns, more: object = {}) => ({
  columns: { day: "Date", ...columns },
  api: { allow_unfiltered: true, parameters: [from, until], pagination: page, ...byDay, ...more },
});

/** Name of a published model → its tags besides `production`, and the rest. */
function publishedModels(season: Season): Readonly<Record<string, readonly [string, ModelOptions]>> {
  const isSpring = season === "spring";
  return {
    stations_directory: [
      "stations api:directory granularity:latest tier0",
      {
        columns: { ...STATION, capacity: "Int32", opened: "Nullable(Date)", tags: "Array(String)" },
        api: {
          methods: ["GET", "POST"],
          allow_unfiltered: true,
          parameters: [borough, search, listOf("station_id", "Ids of stations.")],
          pagination: { ...page, response: isSpring ? "list" : "envelope" },
          sort: [{ column: "station", direction: "ASC" }],
          sortable_fields: ["station", "capacity"],
        },
        parents: ["seed.bikes.stations"],
      },
    ],
    stations_availability: ["stations api:availability granularity:latest tier0", { columns: STATION }],
    stations_occupancy_hourly: [
      "stations api:occupancy granularity:hourly tier1",
      daily({ ...STATION, hour: "DateTime64(3, 'UTC')", bikes: "Int16" }, { allow_unfiltered: false }),
    ],
    stations_occupancy_daily: [
      "stations api:occupancy granularity:daily tier0",
      daily({ ...STATION, share_full: isSpring ? "Float64" : "Nullable(Float64)" }),
    ],
    stations_occupancy_weekly: ["stations api:occupancy granularity:weekly tier0", daily(STATION)],
    stations_ranking: [
      "stations api:ranking window:last_30d tier0",
      { columns: { ...STATION, rank: "Int32" }, api: { allow_unfiltered: true } },
    ],
    trips_daily: ["trips api:count granularity:daily tier0", daily({ trips: "UInt64" })],
    trips_weekly: ["trips api:count granularity:weekly tier0", daily({ trips: "UInt64" })],
    trips_monthly: ["trips api:count granularity:monthly", daily({ trips: isSpring ? "UInt64" : "UInt32" })],
    ...(isSpring && {
      trips_all_time: ["trips api:count granularity:all_time tier0", { columns: { trips: "UInt64" } }],
    }),
    trips_duration: [
      "trips api:duration granularity:daily tier0",
      daily({ median_minutes: "Decimal(10, 2)", ...(isSpring && { mean_minutes: "Decimal(10, 2)" }) }),
    ],
    trips_flows: [
      "trips api:flows granularity:daily tier1",
      daily(
        { origin: "Nullable(String)", destination: "Nullable(String)", trips: "UInt64" },
        {
          methods: ["GET", "POST"],
          allow_unfiltered: false,
          parameters: [listOf("origin"), listOf("destination"), from, ...(isSpring ? [until] : [])],
          require_any_of: ["origin", "destination"],
        },
      ),
    ],
    trips_membership: [
      "trips api:membership granularity:daily tier0",
      daily(
        { plan: "Nullable(String)", trips: "UInt64" },
        { parameters: [listOf("plan", "Plans."), from, until] },
      ),
    ],
    trips_journal: [
      "trips api:journal tier2",
      {
        ...daily({
          trip_id: "UUID",
          rider: "Nullable(String)",
          route: "Map(String, String)",
          fare: "Decimal(24, 6)",
        }),
        pii: ["rider"],
        parents: ["model.bikes.stg_trips"],
      },
    ],
    fleet_bikes: [
      "fleet api:bikes granularity:latest tier1",
      { columns: { bike_id: "UInt64", model: "Nullable(String)", in_repair: "Bool" } },
    ],
    fleet_maintenance: ["fleet api:maintenance granularity:daily tier1", daily({ repairs: "Int32" })],
    fleet_battery: [
      `fleet api:battery granularity:hourly ${isSpring ? "tier1" : "tier2"}`,
      daily({ measured_at: "DateTime", charge: "Float32" }),
    ],
    fleet_utilization: ["fleet api:utilization granularity:weekly", daily({ hours: "Int64" })],
    revenue_daily: ["revenue api:total granularity:daily tier3", daily({ amount: "Decimal(38, 2)" })],
    revenue_by_plan: [
      "revenue api:by_plan granularity:monthly tier3",
      daily(
        { plan: "Nullable(String)", amount: "Decimal(38, 2)" },
        isSpring ? {} : { pagination: { ...page, max_limit: 500 } },
      ),
    ],
    revenue_refunds: [
      `revenue api:refunds granularity:daily ${isSpring ? "tier2" : "tier3"}`,
      daily({ refunds: "UInt64" }),
    ],
    weather_daily: [
      "weather api:observations granularity:daily tier0",
      { ...daily({ rain_mm: "" }), sql: "select * from source where day <= current_date" },
    ],
    weather_effect: ["weather api:effect granularity:weekly tier0", daily({ effect: "Float64" })],
    ...(!isSpring && {
      fleet_lost: ["fleet api:lost granularity:daily tier2", daily({ lost: "Int32" })],
      stations_events: [
        "stations api:events tier1",
        daily({ event: "Nullable(String)", details: "Nullable(String)" }),
      ],
    }),
    // Refused: an ephemeral model, a tag that is nearly a tier, an unknown column, missing keys, a path that is taken.
    revenue_forecast: ["revenue api:forecast tier3", { materialized: "ephemeral" }],
    fleet_positions: ["fleet api:positions tier_2", daily({ position: "Tuple(Float64, Float64)" })],
    trips_speed: ["trips api:speed tier1", daily({ speed: "Float32" }, { sortable_fields: ["velocity"] })],
    trips_gaps: ["trips api:gaps tier1", daily({ gap: "Float32" }, { parameters: [{ name: "gap" }] })],
    trips_weekly_copy: ["trips api:count granularity:weekly tier0", daily({ trips: "UInt64" })],
    fleet_internal: ["fleet api:internal tier3", { api: { exclude_from_api: true } }],
  };
}

/** Models without an endpoint, which the others read. */
const UPSTREAM: Readonly<Record<string, ModelOptions>> = {
  stg_trips: {
    columns: { trip_id: "UUID", rider: "Nullable(String)" },
    parents: ["source.bikes.app.trips"],
    pii: ["rider"],
  },
  int_trips: { columns: { trips: "UInt64" }, materialized: "table", parents: ["model.bikes.stg_trips"] },
};

function modelNode(name: string, tags: readonly string[], options: ModelOptions): object {
  const { columns = {}, api, materialized = "view", parents = ["model.bikes.int_trips"], pii = [] } = options;
  return {
    resource_type: "model",
    unique_id: `model.bikes.${name}`,
    name,
    alias: name,
    schema: "bikes",
    description: `The ${name.replaceAll("_", " ")}, as the operations team reads it.`,
    original_file_path: `models/${name}.sql`,
    tags,
    columns: Object.fromEntries(
      Object.entries(columns).map(([column, type]) => [
        column,
        {
          name: column,
          data_type: type || null,
          description: column === "day" ? "" : `The ${column.replaceAll("_", " ")}.`,
          meta: pii.includes(column) ? { pii: true } : {},
        },
      ]),
    ),
    config: { tags, materialized, meta: api === undefined ? {} : { api } },
    depends_on: { nodes: parents },
    raw_code: options.sql ?? `select * from ${parents.join(", ")}`,
  };
}

function testNode(name: string, model: string, column: string, kwargs: object = {}): [string, object] {
  const attached = `model.bikes.${model}`;
  return [
    `test.bikes.${name}_${model}_${column}`,
    {
      resource_type: "test",
      attached_node: attached,
      column_name: column,
      test_metadata: { name, kwargs },
      depends_on: { nodes: [attached] },
      config: { severity: "error" },
    },
  ];
}

/** The parts of a dbt manifest that its readers use. */
export interface BikeShareManifest {
  readonly metadata: object;
  readonly nodes: Readonly<Record<string, object>>;
  readonly sources: object;
  readonly disabled: object;
  readonly docs: object;
}

/** The manifest as JSON. */
export function bikeShareManifest(season: Season): BikeShareManifest {
  const published = Object.entries(publishedModels(season)).map(
    ([name, [tags, options]]) =>
      [`model.bikes.${name}`, modelNode(name, ["production", ...tags.split(" ")], options)] as const,
  );
  const upstream = Object.entries(UPSTREAM).map(
    ([name, options]) => [`model.bikes.${name}`, modelNode(name, [], options)] as const,
  );
  const seed = {
    resource_type: "seed",
    name: "stations",
    original_file_path: "seeds/stations.csv",
    tags: [],
  };
  return {
    metadata: {
      dbt_schema_version: "https://schemas.getdbt.com/dbt/manifest/v12.json",
      adapter_type: "clickhouse",
      project_name: "bikes",
    },
    nodes: Object.fromEntries([
      ...published,
      ...upstream,
      ["seed.bikes.stations", seed],
      testNode("not_null", "trips_daily", "day"),
      testNode("unique", "stations_directory", "station_id"),
      testNode("accepted_values", "trips_membership", "plan", { values: ["day", "month", "year"] }),
    ]),
    sources: { "source.bikes.app.trips": { resource_type: "source", name: "trips", tags: [] } },
    disabled: {},
    docs: {},
  };
}
