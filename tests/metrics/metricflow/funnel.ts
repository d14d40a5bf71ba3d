import {
  category,
  derived,
  entity,
  files,
  type Json,
  measure,
  metric,
  simple,
  spine,
  SPINE,
  time,
} from "./semantics.js";

const conversion = (name: string, more: Json, measures: { base?: Json; bought?: Json } = {}): Json =>
  metric(name, "conversion", {
    conversion_type_params: {
      entity: "client",
      base_measure: { name: "visits", ...measures.base },
      conversion_measure: { name: "buys", ...measures.bought },
      ...more,
    },
  });

const RATE = { calculation: "conversion_rate" };
const COUNT = { calculation: "conversions" };
const SAME_CHANNEL = { constant_properties: [{ base_property: "channel", conversion_property: "channel" }] };

/**
 * Visits and purchases of users. A user visits once a day at most: of two visits MetricFlow takes any. It reads no
 * filter of the measure of conversions and no offset of a conversion metric, and gives conversions rows of the time spine
 * outside the dates of a request.
 */
export const FUNNEL = files(
  {
    "models/days.sql": SPINE("2024-12-15", "2025-04-15", "1 day", "date", "day"),
    "models/visits.sql": `{{ config(materialized='table') }}
      select i as visit_id, nullif(i % 9, 0) as user_id, timestamp '2025-01-01 03:00' + i * interval '7 hours' as visited_at,
        case i % 5 when 0 then 'web' when 1 then 'app' when 2 then '' when 3 then 'mail' end as channel, i % 2 = 0 as is_first
      from generate_series(1, 240) as i where i not between 100 and 130`,
    "models/buys.sql": `{{ config(materialized='table') }}
      select j as buy_id, nullif(j % 11, 0) as user_id, timestamp '2025-01-02 01:00' + j * interval '19 hours' as bought_at,
        case j % 4 when 0 then 'web' when 1 then 'app' when 2 then '' end as channel, (j * 13 % 17)::numeric / 4 as amount, j % 3 as shop
      from generate_series(1, 100) as j`,
    "models/users.sql": `{{ config(materialized='table') }}
      select i as user_id, case when i % 4 > 0 then 'c' || i % 4 end as country, date '2024-12-20' + i as seen_on from generate_series(1, 7) as i`,
  },
  {
    spines: [spine("days", "day", "day")],
    models: [
      {
        name: "visits",
        model: "ref('visits')",
        defaults: { agg_time_dimension: "visited_at" },
        entities: [entity("visit", "primary", "visit_id"), entity("client", "foreign", "user_id")],
        dimensions: [time("visited_at", "day"), category("channel"), category("is_first")],
        measures: [measure("visits", "count", "visit_id"), measure("visitors", "count_distinct", "user_id")],
      },
      {
        name: "buys",
        model: "ref('buys')",
        defaults: { agg_time_dimension: "bought_at" },
        entities: [entity("buy", "primary", "buy_id"), entity("client", "foreign", "user_id")],
        dimensions: [time("bought_at", "day"), category("channel"), category("shop")],
        measures: [
          measure("buys", "count", "buy_id"),
          measure("buyers", "count_distinct", "user_id"),
          measure("bought", "sum", "1"),
        ],
      },
      {
        name: "users",
        model: "ref('users')",
        entities: [entity("client", "primary", "user_id")],
        dimensions: [category("country"), time("seen_on", "day")],
      },
    ],
    metrics: [
      simple("visits", "visits"),
      simple("buys", "buys"),
      conversion("rate", RATE),
      conversion("conversions", COUNT),
      conversion("rate_7d", { ...RATE, window: "7 days" }),
      conversion("conversions_1d", { ...COUNT, window: "1 day" }),
      conversion("rate_month", { ...RATE, window: "1 month" }),
      conversion("same_channel", { ...COUNT, ...SAME_CHANNEL }),
      conversion("same_channel_2w", { ...RATE, ...SAME_CHANNEL, window: "2 weeks" }),
      conversion(
        "buyers",
        { ...COUNT, window: "5 days" },
        { base: { name: "visitors" }, bought: { name: "buyers" } },
      ),
      conversion("buyer_rate", RATE, { base: { name: "visitors" }, bought: { name: "bought" } }),
      conversion("of_first", COUNT, { base: { filter: "{{ Dimension('visit__is_first') }}" } }),
      conversion("filled", { ...COUNT, window: "3 days" }, { bought: { fill_nulls_with: 0 } }),
      conversion(
        "on_spine",
        { ...COUNT, window: "3 days" },
        { base: { fill_nulls_with: 0, join_to_timespine: true }, bought: { fill_nulls_with: 0 } },
      ),
      derived("lost", "visits - conversions", ["visits", "conversions"]),
    ],
  },
);
