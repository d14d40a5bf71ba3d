/** Shapes of tables of public analytics catalogues, with invented names, and the chart that each is expected to have. */
type Row = Record<string, unknown>;

interface Shape {
  readonly resource: string;
  /** Names and types; `null` for a type that is not declared. */
  readonly columns: string;
  readonly rows: readonly Row[];
  /** As the chart is named. */
  readonly chart: string | null;
}

const days = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => new Date(Date.UTC(2026, 0, 1 + i)).toISOString().slice(0, 10));
const months = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => new Date(Date.UTC(2024, i, 1)).toISOString().slice(0, 7));
const names = (word: string, count: number): string[] =>
  Array.from({ length: count }, (_, i) => `${word}${String.fromCharCode(97 + (i % 26))}${String(i)}`);
const address = (i: number): string => `0x${(i * 7919 + 13).toString(16).padStart(40, "c")}`;

/** Every combination of the values of the dimensions, with the measures of its position. */
function grid(
  dimensions: Readonly<Record<string, readonly unknown[]>>,
  measures: (i: number, row: Row) => Row,
): readonly Row[] {
  const rows = Object.entries(dimensions).reduce<readonly Row[]>(
    (before, [name, values]) => before.flatMap((row) => values.map((value) => ({ ...row, [name]: value }))),
    [{}],
  );
  return rows.map((row, i) => ({ ...row, ...measures(i, row) }));
}
const wave = (i: number): number => Math.round(1000 + 400 * Math.sin(i / 5) + ((i * 7919) % 37));

export const SHAPES: readonly Shape[] = [
  {
    resource: "orders_by_channel",
    columns: "date Date; label String; value UInt64",
    rows: grid({ date: days(60), label: names("channel_", 5) }, (i) => ({ value: wave(i) })),
    chart: "line: value by date, split by label",
  },
  {
    resource: "active_members",
    columns: "value UInt64; change_pct Nullable(Float64)",
    rows: [{ value: 5310, change_pct: -2.4 }],
    chart: "figures: value (change_pct)",
  },
  {
    resource: "volume",
    columns: "value Float64; prev_value Float64; change_pct Float64",
    rows: [{ value: 200, prev_value: 160, change_pct: 25 }],
    chart: "figures: value (change_pct)",
  },
  {
    resource: "best_rate",
    columns: "value Float64; prev_value Float64; label Nullable(String)",
    rows: [{ value: 4.2, prev_value: 4, label: "pool north" }],
    chart: "figures: value (prev_value)",
  },
  {
    resource: "yield_dist",
    columns:
      "date Date; q05 Float64; q10 Float64; q25 Float64; q50 Float64; q75 Float64; q90 Float64; q95 Float64",
    rows: grid({ date: days(30) }, (i) => ({
      ...{ q05: i + 1, q10: i + 2, q25: i + 3, q50: i + 4, q75: i + 5, q90: i + 6, q95: i + 7 },
    })),
    chart: "line: q05, q10, q25, q50, q75, q90, q95 by date",
  },
  {
    resource: "queue",
    columns: "day date; p50 numeric; p90 numeric; p99 numeric; mean numeric; waiting_id int",
    rows: grid({ day: days(30) }, (i) => ({
      p50: i,
      p90: i * 2,
      p99: i * 3,
      mean: i + 1,
      waiting_id: 1000 + i,
    })),
    chart: "line: p50, p90, p99, mean by day",
  },
  {
    resource: "attribution",
    columns:
      "goal String; channel String; goals_with_touch UInt64; first_touch Float64; last_touch Float64; total_goals UInt64; computed_at DateTime",
    rows: grid({ goal: names("goal_", 3), channel: names("channel_", 6) }, (i) => ({
      ...{ goals_with_touch: 10 + i * 3, first_touch: i / 2, last_touch: i / 3, total_goals: 900 },
      computed_at: "2026-06-30 05:00:00",
    })),
    chart: "bar: goals_with_touch by channel, split by goal",
  },
  {
    resource: "supply",
    columns: "date Date; token String; token_class String; value Float64",
    rows: grid({ date: days(40), token: names("t", 6) }, (i, { token }) => ({
      token_class: String(token).length > 3 ? "stable" : i % 6 < 3 ? "native" : "wrapped",
      value: wave(i),
    })),
    chart: "line: value by date, split by token",
  },
  {
    resource: "balance_cohorts",
    columns: "date Date; token String; cohort_unit String; label String; value Float64",
    rows: grid(
      {
        date: days(20),
        token: names("t", 3),
        cohort_unit: ["native", "usd"],
        label: ["0-10", "10-100", "100+"],
      },
      (i) => ({ value: wave(i) }),
    ),
    chart: "line: sum of value by date, split by label, only cohort_unit usd",
  },
  {
    resource: "cohort_value",
    columns: "date Date; token String; label String; value_native Float64; value_usd Float64",
    rows: grid({ date: days(20), token: names("t", 3), label: names("size_", 4) }, (i) => ({
      ...{ value_native: wave(i) * 3, value_usd: wave(i) },
    })),
    chart: "line: sum of value_usd by date, split by label",
  },
  {
    resource: "locked_value_by_token",
    columns: "token String; value Float64",
    rows: grid({ token: names("t", 12) }, (i) => ({ value: wave(i) })),
    chart: "bar: value by token",
  },
  {
    resource: "top_wallets",
    columns: "wallet_address text; balance numeric; rank int",
    rows: Array.from({ length: 40 }, (_, i) => ({
      ...{ wallet_address: address(i), balance: 1000.5 / (i + 1), rank: i + 1 },
    })),
    chart: "bar: balance by wallet_address",
  },
  {
    resource: "accounts_by_project",
    columns: "window String; label String; value Float64",
    rows: grid({ window: ["1D", "7D", "30D", "All"], label: names("project_", 10) }, (i) => ({
      value: wave(i),
    })),
    chart: "bar: value by label, only window 1D",
  },
  {
    resource: "ranges",
    columns: "window text; value bigint",
    rows: [
      { window: "1D", value: 5 },
      { window: "7D", value: 31 },
      { window: "30D", value: 120 },
    ],
    chart: "bar: value by window",
  },
  {
    resource: "attestations",
    columns: "date Date; inclusion_delay UInt64; cnt UInt64",
    rows: grid({ date: days(30), inclusion_delay: Array.from({ length: 32 }, (_, i) => i + 1) }, (i) => ({
      cnt: wave(i),
    })),
    chart: "line: cnt by date, split by inclusion_delay",
  },
  {
    resource: "routes",
    columns: "date Date; hops UInt8; transfers UInt64",
    rows: grid({ date: days(30), hops: [1, 2, 3, 4] }, (i) => ({ transfers: wave(i) })),
    chart: "line: transfers by date, split by hops",
  },
  {
    resource: "top_holders",
    columns:
      "rank UInt64; token_address String; symbol String; class String; holder_address String; label Nullable(String); balance Float64; balance_usd Float64; pct_of_total Float64; cumulative_pct Float64; change_usd_7d Float64",
    rows: Array.from({ length: 50 }, (_, i) => ({
      ...{ rank: i + 1, token_address: address(1), symbol: "ABC", class: i % 3 === 0 ? "fund" : "person" },
      ...{
        holder_address: address(i + 9),
        label: i % 5 === 0 ? `desk ${String(i)}` : null,
        balance: 9000 / (i + 1),
      },
      ...{
        balance_usd: 9900 / (i + 1),
        pct_of_total: 10 / (i + 1),
        cumulative_pct: i + 10,
        change_usd_7d: i - 20,
      },
    })),
    chart: "bar: balance_usd by holder_address",
  },
  {
    resource: "user_activity",
    columns:
      "transaction_hash String; wallet_address String; timestamp DateTime64(0, 'UTC'); date Date; action String; symbol String; direction String; amount Float64; amount_usd Float64",
    rows: Array.from({ length: 120 }, (_, i) => ({
      ...{ transaction_hash: address(i), wallet_address: address(i % 7), date: days(30)[i % 30] },
      timestamp: `${days(30)[i % 30] ?? ""} 10:${String(i % 60).padStart(2, "0")}:00`,
      ...{
        action: ["pay", "refund", "swap"][i % 3],
        symbol: ["A", "B"][i % 2],
        direction: ["in", "out"][i % 2],
      },
      ...{ amount: wave(i), amount_usd: wave(i) * 1.1 },
    })),
    chart: "line: sum of amount_usd by date, split by action",
  },
  {
    resource: "cohort_retention",
    columns: "x String; y String; retention_pct Float64; value_abs UInt64; value_usd Float64",
    rows: grid({ x: months(10), y: names("", 8) }, (i) => ({
      ...{ retention_pct: 100 - (i % 8) * 9, value_abs: wave(i), value_usd: wave(i) * 2 },
    })),
    chart: "line: retention_pct by x, split by y",
  },
  {
    resource: "upgrades",
    columns: "upgrade_name String; upgrade_version String; digest String; upgrade_epoch UInt64",
    rows: Array.from({ length: 6 }, (_, i) => ({
      ...{ upgrade_name: `city${String(i)}`, upgrade_version: `0x0${String(i)}`, digest: address(i) },
      upgrade_epoch: i * 5000,
    })),
    chart: null,
  },
  {
    resource: "members",
    columns: "address null",
    rows: Array.from({ length: 30 }, (_, i) => ({ address: address(i) })),
    chart: null,
  },
  { resource: "spine", columns: "week Date", rows: days(30).map((week) => ({ week })), chart: null },
  {
    resource: "stock_prices",
    columns: "ticker String; date Date; price UInt64",
    rows: grid({ ticker: names("x", 7), date: days(40) }, (i) => ({ price: wave(i) })),
    chart: "line: price by date, split by ticker",
  },
  {
    resource: "user_metrics",
    columns:
      "wallet_address String; first_activity_date Date; last_activity_date Date; tenure_days UInt64; total_payment_volume_usd Float64; total_payment_count UInt64; is_active UInt8",
    rows: [
      {
        ...{
          wallet_address: address(4),
          first_activity_date: "2025-01-01",
          last_activity_date: "2026-06-30",
        },
        ...{ tenure_days: 545, total_payment_volume_usd: 12345.67, total_payment_count: 321, is_active: 1 },
      },
    ],
    chart: "figures: total_payment_volume_usd, total_payment_count, tenure_days",
  },
  {
    resource: "clients",
    columns: "date Date; v4_count UInt64; change_v4_pct Float64; v5_count UInt64; change_v5_pct Float64",
    rows: [{ date: "2026-06-30", v4_count: 900, change_v4_pct: 1.5, v5_count: 1200, change_v5_pct: -3 }],
    chart: "figures: v4_count (change_v4_pct), v5_count (change_v5_pct)",
  },
  {
    resource: "swap_volume",
    columns: "quarter Date; volume_usd Float64",
    rows: [0, 3, 6, 9].map((month) => ({
      quarter: new Date(Date.UTC(2025, month, 1)).toISOString().slice(0, 10),
      volume_usd: wave(month),
    })),
    chart: "line: volume_usd by quarter",
  },
  {
    resource: "emissions",
    columns: "quarter Date; co2_tonnes_yr Float64; is_estimated Bool",
    rows: grid({ quarter: days(12) }, (i) => ({ co2_tonnes_yr: wave(i), is_estimated: i > 9 })),
    chart: "line: co2_tonnes_yr by quarter",
  },
  {
    resource: "carbon",
    columns:
      "date Date; ma7_value Float64; ma7_lower_90 Float64; ma7_upper_90 Float64; ma7_lower_95 Float64; ma7_upper_95 Float64",
    rows: grid({ date: days(30) }, (i) => ({
      ...{ ma7_value: wave(i), ma7_lower_90: wave(i) - 5, ma7_upper_90: wave(i) + 5 },
      ...{ ma7_lower_95: wave(i) - 9, ma7_upper_95: wave(i) + 9 },
    })),
    chart: "line: ma7_value, ma7_lower_90, ma7_upper_90, ma7_lower_95, ma7_upper_95 by date",
  },
  {
    resource: "gas_used",
    columns: "date Date; type String; gas_price_avg Float64; gas_used UInt64",
    rows: grid({ date: days(40), type: ["0", "1", "2"] }, (i) => ({
      gas_price_avg: i / 7,
      gas_used: wave(i),
    })),
    chart: "line: gas_used by date, split by type",
  },
  {
    resource: "members_balance_dist",
    columns: "bucket String; bucket_order UInt8; member_count UInt64; balance_total Float64",
    rows: ["0-1", "1-10", "10-100", "100+"].map((bucket, i) => ({
      ...{ bucket, bucket_order: i + 1, member_count: 1000 - i * 200, balance_total: wave(i) },
    })),
    chart: "bar: member_count by bucket",
  },
  {
    resource: "flows",
    columns: "d DateTime64(0, 'UTC'); range String; source String; target String; value UInt64",
    rows: grid({ range: ["7D", "30D"], source: names("s", 4), target: names("t", 5) }, (i) => ({
      ...{ d: "2026-06-30 00:00:00", value: wave(i) },
    })),
    chart: "bar: value by source, split by target, only range 7D",
  },
  {
    resource: "retention",
    columns: "cohort_age int; retained int",
    rows: Array.from({ length: 21 }, (_, i) => ({ cohort_age: i, retained: 100 - i * 3 })),
    chart: "bar: retained by cohort_age",
  },
  {
    resource: "peers_by_city",
    columns: "city String; latitude Float64; longitude Float64; cnt UInt64",
    rows: Array.from({ length: 15 }, (_, i) => ({
      ...{ city: `city${String(i)}`, latitude: 40 + i, longitude: i * 3.5, cnt: 100 - i },
    })),
    chart: "bar: cnt by city",
  },
  {
    resource: "transfers",
    columns: "id bigint; created_at timestamptz; status text; hop_count int; amount numeric(18,2)",
    rows: Array.from({ length: 300 }, (_, i) => ({
      ...{ id: 9000 + i, created_at: new Date(Date.UTC(2026, 0, 1) + i * i * 60_000).toISOString() },
      ...{ status: ["done", "open"][i % 2], hop_count: 1 + (i % 4), amount: wave(i) },
    })),
    chart: "line: sum of amount by day of created_at, split by status",
  },
  {
    resource: "revenue",
    columns: "year int; revenue numeric",
    rows: Array.from({ length: 8 }, (_, i) => ({ year: 2018 + i, revenue: wave(i) })),
    chart: "line: revenue by year",
  },
  {
    resource: "clients_daily",
    columns: "date Date; metric String; label String; value UInt64",
    rows: grid({ date: days(20), metric: ["clients", "versions"], label: names("c", 4) }, (i) => ({
      value: wave(i),
    })),
    chart: "line: value by date, split by label, only metric clients",
  },
  {
    resource: "pool_activity",
    columns: "date Date; mints UInt64; burns UInt64",
    rows: grid({ date: days(30) }, (i) => ({ mints: wave(i), burns: wave(i) - 300 })),
    chart: "line: mints, burns by date",
  },
  {
    resource: "volumes",
    columns: "date date; inflow_usd int; volume_usd int",
    rows: grid({ date: days(30) }, (i) => ({ inflow_usd: wave(i), volume_usd: wave(i) * 2 })),
    chart: "line: volume_usd by date",
  },
];
