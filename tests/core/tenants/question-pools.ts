/** What requests are made of: few values, so that many have the same form. */

export type Pool = Readonly<Record<string, readonly string[]>>;

export const ROW_FILTERS: Pool = {
  country_is: ["AT", "at", "CH", "zürich's"],
  since: ["2026-02-01", "2026-03-15"],
  until: ["2026-02-01", "2026-03-15"],
  search: ["acme", "other", "-3", "%e-1", "E-2"],
  notes: ["acme-1,other-1", "acme-1", "other-1", "none-2,acme-2"],
  "country[eq]": ["AT", "CH"],
  "country[ne]": ["AT"],
  "country[in]": ["AT,CH", "AT"],
  "country[null]": ["true", "false"],
  "org_id[eq]": ["acme", "other"],
  "org_id[in]": ["acme,other", "other"],
  "org_id[ne]": ["acme", "other"],
  "org_id[null]": ["true", "false"],
  "note[eq]": ["acme-1", "other-1"],
  "note[gte]": ["acme-3", "n"],
  "amount[gte]": ["500", "99999999999999999999", "-1"],
  "amount[lt]": ["500", "0", "-99999999999999999999"],
  "order_id[in]": ["1,2,3,4,5,6,7,8,9", "1", "99"],
  "order_id[lte]": ["20", "21"],
  "ordered_at[lt]": ["2026-02-01T00:00:00Z", "2026-03-15T12:00:00+01:00"],
  "ordered_at[lte]": ["2026-02-01T00:00:00Z"],
  "fee[gt]": ["500", "500.01"],
};
export const EXPRESSIONS = [
  ...[
    "org_id eq 'acme'",
    "org_id eq 'other'",
    "org_id ne 'acme'",
    "org_id eq null",
    "country eq 'AT'",
    "country eq 'CH'",
  ],
  ...[
    "country in ('AT','CH')",
    "country in ('AT',null)",
    "country ne null",
    "contains(note,'acme')",
    "contains(note,'other')",
  ],
  ...[
    "startswith(note,'n')",
    "endswith(note,'-1')",
    "amount gt 500",
    "amount le 500",
    "order_id lt 30",
    "note eq 'acme-1'",
  ],
  ...[
    "month(ordered_at) eq 2",
    "month(ordered_at) in (2,3)",
    "day(ordered_at) eq 5",
    "ordered_at ge 2026-03-01T00:00:00Z",
    "date(ordered_at) eq 2026-02-05",
  ],
];
export const ROW_OPTIONS: Pool = {
  limit: ["1", "3", "7", "60"],
  offset: ["0", "1", "5", "100"],
  sort_by: ["amount", "country", "ordered_at"],
  sort_direction: ["ASC", "DESC"],
  fields: ["order_id", "order_id,note", "note,order_id", "order_id,amount,email", "org_id"],
};
export const AGGREGATE_OPTIONS: Pool = {
  group_by: [
    "country",
    "note",
    "org_id",
    "country,note",
    "ordered_at__month",
    "ordered_at__day",
    "org_id,country",
  ],
  measures: ["total", "n", "swiss", "total,n", "n,swiss", "buyers", "total,n,swiss,buyers"],
  "total[gt]": ["0", "1000"],
  "n[gte]": ["3", "10"],
};
export const METRIC_GROUPS = [
  ...[
    "metric_time__day",
    "metric_time__week",
    "metric_time__month",
    "metric_time__fiscal_quarter",
    "metric_time__extract_month",
  ],
  ...[
    "customer",
    "org_id",
    "order__country",
    "order__note",
    "customer__country__region",
    "order__ordered_at__month",
    "visit__channel",
  ],
];
export const METRIC_FILTERS: Pool = {
  org_id: ["acme", "other"],
  "org_id[ne]": ["acme", "other"],
  "org_id[null]": ["true", "false"],
  customer: ["10", "20"],
  "customer[in]": ["10", "10,20", "20,30"],
  customer__country__region: ["EU", "alps", "acme-land"],
  "customer__country__region[null]": ["true", "false"],
  order__country: ["AT", "CH"],
  "order__country[in]": ["AT,CH", "CH"],
  order__note: ["acme-1", "other-1"],
  visit__channel: ["web", "acme-shop", "other-shop"],
  start_date: ["2026-01-01", "2026-02-01", "2026-02-10"],
  end_date: ["2026-02-28", "2026-03-31", "2026-04-02"],
  "metric_time[gte]": ["2026-02-01", "2026-03-01"],
};
export const METRIC_EXPRESSIONS = [
  ...[
    "org_id eq 'acme'",
    "org_id eq 'other'",
    "org_id eq null",
    "customer eq 10",
    "customer in (10,20)",
    "customer ne null",
  ],
  ...[
    "customer__country__region eq 'EU'",
    "customer__country__region eq 'alps'",
    "customer__country__region in ('EU',null)",
  ],
  ...[
    "order__country eq 'CH'",
    "order__country eq 'AT'",
    "contains(order__note,'acme')",
    "contains(order__note,'other')",
  ],
];
export const GROUP_OPTIONS: Pool = {
  top: ["1", "2"],
  other: ["true"],
  totals: ["true"],
  compare: ["previous_period", "previous_year"],
  limit: ["1", "3", "60"],
  offset: ["0", "2"],
};
export const RATE_FILTERS: Pool = {
  label: ["rate-1", "rate-2"],
  "label[eq]": ["rate-1", "rate-2"],
  "n[lt]": ["5", "30"],
  "value[gte]": ["2.5", "3"],
};

export const ROWS = [
  "orders",
  "orders",
  "orders_any",
  "orders_any",
  "orders_whole",
  "sums",
  "sums",
  "grouped",
  "rates",
  "premium",
];
export const DOCUMENTS = [
  ...[
    "/v1/system/catalogue",
    "/openapi.json",
    "/llms.txt",
    "/v1/system/changelog",
    "/odata/",
    "/odata/$metadata",
  ],
  ...[
    "/v1/system/catalogue?tag=shop",
    "/openapi.json?path=/v1/shop/premium",
    "/health",
    "/v1/shop/none",
    "/odata/shop__premium()",
  ],
];

export const FORMATS: readonly Readonly<Record<string, string>>[] = [
  ...[
    {},
    {},
    {},
    {},
    { accept: "text/csv" },
    { accept: "application/x-ndjson" },
    { accept: "application/json" },
  ],
  ...[
    { "accept-encoding": "gzip" },
    { "accept-encoding": "br" },
    { prefer: "count=exact" },
    { range: "bytes=0-40" },
    { range: "bytes=20-" },
  ],
  ...[
    { range: "bytes=-30" },
    { accept: "application/vnd.apache.arrow.stream" },
    { accept: "application/problem+json" },
  ],
  ...[{ "x-forwarded-prefix": "/elsewhere" }, { accept: "application/json; numbers=string" }],
  ...[
    { accept: "application/json;IEEE754Compatible=true" },
    { prefer: "maxpagesize=3" },
    { "odata-maxversion": "4.0" },
  ],
];
export const SUFFIXES = ["", "", "", "", "", "", ".csv", ".ndjson", ".json", ".arrows"];
