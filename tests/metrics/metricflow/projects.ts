import { FUNNEL } from "./funnel.js";
import {
  category,
  cumulative,
  derived,
  entity,
  files,
  measure,
  metric,
  simple,
  spine,
  SPINE,
  time,
} from "./semantics.js";

/** Filters compare what other metrics are for an entity of the rows. */
const BUSY = "{{ Metric('order_count', group_by=['customer']) }} > 7";
const COMPARED = [
  simple("busy_orders", "order_count", BUSY),
  simple("revenue_of_large", "revenue", "{{ Metric('order_total', ['order_id']) }} > 15"),
  simple("active_customers", {
    name: "customers",
    filter:
      "{{ Metric('food_share', ['customer']) }} < 0.4 or {{ Metric('large_orders', ['customer']) }} > 2",
  }),
  simple(
    "spending_customers",
    "customers",
    "{{ Metric('revenue', ['order_id__customer']) }} between 20 and 60",
  ),
  simple("busy_of_busy", "order_total", "{{ Metric('busy_orders', ['customer']) }} > 8"),
  simple(
    "sold_often",
    { name: "revenue", join_to_timespine: true },
    "{{ Metric('running_high', ['product']) }} > 100 and {{ Dimension('product__kind') }} is not null",
  ),
  metric("busy_share", "ratio", {
    numerator: { name: "order_count", filter: BUSY, alias: "busy" },
    denominator: "order_count",
  }),
  metric(
    "busy_7d",
    "cumulative",
    { measure: "order_count", cumulative_type_params: { window: "7 days" } },
    BUSY,
  ),
  derived("busy_growth", "now - before", [
    { name: "busy_orders", alias: "now" },
    { name: "order_count", alias: "before", offset_window: "1 month", filter: BUSY },
  ]),
];

/** Orders with items, customers and products: entities in a chain, expressions, ratios, growth by month. */
const SHOP = files(
  {
    "models/days.sql": SPINE("2024-12-01", "2025-07-31", "1 day", "date", "day"),
    "models/orders.sql": `{{ config(materialized='table') }}
      select i as order_id, nullif(i * 7 % 23, 0) as customer_id, timestamp '2025-01-03 05:00' + i * interval '17 hours' as ordered_at,
        (i * 37 % 101)::numeric / 4 as total, (i % 5)::int as items, i % 3 = 0 as is_food,
        case when i % 11 <> 0 then date '2025-01-05' + i * 2 / 3 end as shipped_on
      from generate_series(1, 180) as i where i not between 60 and 75`,
    "models/items.sql": `{{ config(materialized='table') }}
      select i as item_id, i / 2 + 1 as order_id, 'p' || i % 6 as product_id, (i % 7)::bigint as price,
        (i % 13)::double precision / 3 as weight, timestamp '2025-01-03 06:00' + i * interval '8 hours' as ordered_at
      from generate_series(1, 360) as i`,
    "models/customers.sql": `{{ config(materialized='table') }}
      select i as customer_id, case i % 4 when 0 then 'new' when 1 then 'returning' when 2 then '' end as kind,
        date '2024-12-15' + i * 5 as first_ordered_on, i % 2 = 0 as is_member
      from generate_series(1, 20) as i`,
    "models/products.sql": `{{ config(materialized='table') }}
      select 'p' || i as product_id, case when i < 3 then 'jaffle' when i < 5 then 'beverage' end as kind from generate_series(0, 4) as i`,
  },
  {
    spines: [spine("days", "day", "day")],
    models: [
      {
        name: "orders",
        model: "ref('orders')",
        defaults: { agg_time_dimension: "ordered_at" },
        entities: [entity("order_id", "primary", "order_id"), entity("customer", "foreign", "customer_id")],
        dimensions: [
          time("ordered_at", "day"),
          time("shipped_on", "day"),
          category("is_food"),
          category("size", "case when total > 20 then 'large' when total > 5 then 'small' end"),
        ],
        measures: [
          measure("order_total", "sum", "total"),
          measure("order_count", "count", "order_id"),
          measure("shipped_total", "sum", "total", { agg_time_dimension: "shipped_on" }),
          measure("average_total", "average", "total"),
          measure("median_total", "median", "total"),
          measure("largest", "max", "items"),
          measure("food", "sum_boolean", "is_food"),
          measure("buyers", "count_distinct", "customer_id"),
          measure("total_per_item", "sum", "total / items"),
        ],
      },
      {
        name: "items",
        model: "ref('items')",
        defaults: { agg_time_dimension: "ordered_at" },
        entities: [
          entity("item", "primary", "item_id"),
          entity("order_id", "foreign", "order_id"),
          entity("product", "foreign", "product_id"),
        ],
        dimensions: [time("ordered_at", "day")],
        measures: [
          measure("revenue", "sum", "price"),
          measure("high_prices", "sum", "case when price > 4 then price end"),
          measure("jaffle_revenue", "sum", "case when product_id in ('p0', 'p1') then price else 0 end"),
          measure("weight_p90", "percentile", "weight", { agg_params: { percentile: 0.9 } }),
          measure("price_p90", "percentile", "price", {
            agg_params: { percentile: 0.9, use_discrete_percentile: true },
          }),
        ],
      },
      {
        name: "customers",
        model: "ref('customers')",
        defaults: { agg_time_dimension: "first_ordered_on" },
        entities: [entity("customer", "primary", "customer_id")],
        dimensions: [time("first_ordered_on", "day"), category("kind"), category("is_member")],
        measures: [measure("customers", "count", "customer_id")],
      },
      {
        name: "products",
        model: "ref('products')",
        entities: [entity("product", "primary", "product_id")],
        dimensions: [category("kind")],
      },
    ],
    metrics: [
      simple("order_total", "order_total"),
      simple("order_count", "order_count"),
      simple("shipped_total", "shipped_total"),
      simple("average_total", "average_total"),
      simple("median_total", "median_total"),
      simple("largest", "largest"),
      simple("food", "food"),
      simple("buyers", "buyers"),
      simple("revenue", "revenue"),
      simple("weight_p90", "weight_p90"),
      simple("price_p90", "price_p90"),
      simple("customers", "customers"),
      simple("large_orders", "order_count", "{{ Dimension('order_id__size') }} = 'large'"),
      simple(
        "member_total",
        "order_total",
        "{{ Dimension('customer__is_member') }} and {{ Entity('customer') }} is not null",
      ),
      simple("filled_orders", { name: "order_count", fill_nulls_with: 0, join_to_timespine: true }),
      simple("zero_orders", { name: "order_count", fill_nulls_with: 0 }),
      metric("jaffle_share", "ratio", { numerator: "jaffle_total", denominator: "revenue" }),
      simple("jaffle_total", "jaffle_revenue"),
      metric("food_share", "ratio", {
        numerator: {
          name: "order_count",
          filter: "{{ Dimension('order_id__is_food') }}",
          alias: "food_orders",
        },
        denominator: "order_count",
      }),
      metric("revenue_per_order", "ratio", { numerator: "revenue", denominator: "order_count" }),
      derived("growth", "(now - before) * 100.0 / nullif(before, 0)", [
        { name: "revenue", alias: "now" },
        { name: "revenue", alias: "before", offset_window: "1 month" },
      ]),
      derived("week_ago", "today - coalesce(past, 0)", [
        { name: "order_count", alias: "today" },
        { name: "order_count", alias: "past", offset_window: "7 days" },
      ]),
      derived("since_month_start", "today - past", [
        { name: "order_total", alias: "today" },
        { name: "order_total", alias: "past", offset_to_grain: "month" },
      ]),
      derived("all_filled", "coalesce(filled, 0) + 1 + zero", [
        { name: "filled_orders", alias: "filled" },
        { name: "zero_orders", alias: "zero" },
      ]),
      derived("twice", "2 * all_filled", ["all_filled"]),
      derived("per_buyer", "order_total / buyers", ["order_total", "buyers"]),
      ...COMPARED,
      cumulative("running_revenue", "revenue", { period_agg: "last" }),
      cumulative("running_high", "high_prices", {}),
      cumulative("buyers_7d", "buyers", { window: "7 days" }),
      cumulative("orders_mtd", "order_count", { grain_to_date: "month", period_agg: "average" }),
      cumulative(
        "filled_7d",
        { name: "order_count", fill_nulls_with: 0, join_to_timespine: true },
        {
          window: "3 days",
          period_agg: "average",
        },
      ),
    ],
  },
);

/** Subscriptions by month and balances by day: non-additive measures, a coarse time, a unique entity. */
const SUBSCRIPTIONS = files(
  {
    "models/calendar.sql": SPINE("2023-12-01", "2024-12-31", "1 day", "date", "calendar_day"),
    "models/balances.sql": `{{ config(materialized='table') }}
      select 'a' || a as account_id, date '2024-01-01' + d as on_day, (a * 1000 + d * 7 % 50)::numeric(12, 2) as balance, d % 2 = 0 as is_open
      from generate_series(1, 6) as a, generate_series(0, 120, 3) as d where (a + d) % 5 <> 0`,
    "models/fees.sql": `{{ config(materialized='table') }}
      select i as fee_id, nullif('a' || i % 8, 'a0') as account_id, date_trunc('month', date '2024-01-15' + i * 3)::date as month, (i % 9)::int as fee
      from generate_series(1, 90) as i`,
    "models/accounts.sql": `{{ config(materialized='table') }}
      select 'a' || i as account_id, 'o' || i as owner_id, case when i % 3 > 0 then 'plan ' || i % 3 end as plan, timestamptz '2023-11-30 23:30+00' + i * interval '20 days' as opened_at
      from generate_series(1, 7) as i`,
    "models/owners.sql": `{{ config(materialized='table') }} select 'a' || i as account_id, i % 2 = 0 as is_company from generate_series(2, 7) as i`,
  },
  {
    spines: [spine("calendar", "calendar_day", "day")],
    models: [
      {
        name: "balances",
        model: "ref('balances')",
        primary_entity: "balance",
        defaults: { agg_time_dimension: "on_day" },
        entities: [entity("account", "foreign", "account_id")],
        dimensions: [time("on_day", "day"), category("is_open")],
        measures: [
          measure("balance_end", "sum", "balance", {
            non_additive_dimension: { name: "on_day", window_choice: "max" },
          }),
          measure("balance_start", "sum", "balance", {
            non_additive_dimension: { name: "on_day", window_choice: "min" },
          }),
          measure("balance_by_account", "sum", "balance", {
            non_additive_dimension: { name: "on_day", window_choice: "max", window_groupings: ["account"] },
          }),
          measure("open_days", "sum_boolean", "is_open"),
        ],
      },
      {
        name: "fees",
        model: "ref('fees')",
        defaults: { agg_time_dimension: "billed_on" },
        entities: [entity("fee", "primary", "fee_id"), entity("account", "foreign", "account_id")],
        dimensions: [time("billed_on", "month", "month")],
        measures: [measure("fees", "sum", "fee"), measure("smallest_fee", "min", "fee")],
      },
      {
        name: "accounts",
        model: "ref('accounts')",
        entities: [entity("account", "primary", "account_id"), entity("owner", "unique", "owner_id")],
        dimensions: [time("opened_at", "day"), category("plan")],
      },
      {
        name: "owners",
        model: "ref('owners')",
        primary_entity: "ownership",
        entities: [entity("account", "unique", "account_id")],
        dimensions: [category("is_company")],
      },
    ],
    metrics: [
      simple("balance_end", "balance_end"),
      simple("balance_start", "balance_start"),
      simple("balance_by_account", "balance_by_account"),
      simple("open_days", "open_days"),
      simple("company_balance", "balance_end", "{{ Dimension('account__is_company') }}"),
      simple("fees", "fees"),
      simple("smallest_fee", "smallest_fee"),
      simple("plan_fees", "fees", "{{ Dimension('account__plan') }} is not null"),
      simple("late_fees", "fees", "{{ TimeDimension('metric_time', 'month') }} >= '2024-04-01'"),
      metric("fee_rate", "ratio", { numerator: "fees", denominator: "balance_end" }),
      derived("balance_change", "balance_end - balance_start", ["balance_end", "balance_start"]),
      derived("fees_year_start", "today / past", [
        { name: "fees", alias: "today" },
        { name: "fees", alias: "past", offset_to_grain: "year" },
      ]),
      derived("fees_quarter_ago", "past", [{ name: "fees", alias: "past", offset_window: "1 quarter" }]),
      cumulative("fees_ytd", "fees", { grain_to_date: "year" }),
      cumulative("fees_all_time", "fees", { period_agg: "last" }),
    ],
  },
);

/** Readings by the minute: two time spines, times with a zone, windows of hours. */
const SENSORS = files(
  {
    "models/days.sql": SPINE("2024-02-20", "2024-03-20", "1 day", "date", "day"),
    "models/hours.sql": SPINE("2024-02-27", "2024-03-04", "1 hour", "timestamp", "hour"),
    "models/readings.sql": `{{ config(materialized='table') }}
      select i as reading_id, 's' || i % 4 as sensor_id, timestamp '2024-02-28 22:10' + i * interval '47 minutes' as read_at,
        timestamptz '2024-02-28 21:00+00' + i * interval '50 minutes' as stored_at, (i * 31 % 17)::bigint as value, i % 4 > 1 as is_valid
      from generate_series(1, 120) as i`,
    "models/sensors.sql": `{{ config(materialized='table') }}
      select 's' || i as sensor_id, case when i < 2 then 'roof' end as place from generate_series(0, 2) as i`,
  },
  {
    spines: [spine("days", "day", "day"), spine("hours", "hour", "hour")],
    models: [
      {
        name: "readings",
        model: "ref('readings')",
        defaults: { agg_time_dimension: "read_at" },
        entities: [entity("reading", "primary", "reading_id"), entity("sensor", "foreign", "sensor_id")],
        dimensions: [time("read_at", "hour"), time("stored_at", "minute"), category("is_valid")],
        measures: [
          measure("readings", "count", "reading_id"),
          measure("total", "sum", "value"),
          measure("highest", "max", "value"),
        ],
      },
      {
        name: "sensors",
        model: "ref('sensors')",
        entities: [entity("sensor", "primary", "sensor_id")],
        dimensions: [category("place")],
      },
    ],
    metrics: [
      simple("readings", "readings"),
      simple("total", "total"),
      simple("highest", "highest"),
      simple("valid", "readings", "{{ Dimension('reading__is_valid') }}"),
      simple("on_spine", { name: "total", join_to_timespine: true, fill_nulls_with: 0 }),
      derived("hour_before", "today - past", [
        { name: "total", alias: "today" },
        { name: "total", alias: "past", offset_window: "1 hour" },
      ]),
      derived("day_before", "past", [{ name: "readings", alias: "past", offset_window: "1 day" }]),
      cumulative("last_3_hours", "total", { window: "3 hours", period_agg: "last" }),
      cumulative("day_to_date", "readings", { grain_to_date: "day", period_agg: "last" }),
    ],
  },
);

/** dbt projects with what public ones have: stores with growth by month, subscriptions with balances, events by the hour, visits that lead to purchases. */
export const PROJECTS = {
  shop: SHOP,
  subscriptions: SUBSCRIPTIONS,
  sensors: SENSORS,
  funnel: FUNNEL,
} as const;
