import { type Edit, retype, row, type Row, type } from "./feature-model.js";

const numbersAsStrings: Edit = (model) => (model.config.meta.routewright = { numbers: "string" });

/** Lists keep their numbers whatever their digits: no client has strings in them. */
const WIDE_LISTS = [
  ["integer[]", "bigint[]", "warning column-widened", "compatible column-narrowed"],
  ["bigint[]", "numeric[]", "breaking column-retyped", "breaking column-scale-lowered"],
  ["bigint[]", "numeric(20,0)[]", "warning column-widened", "compatible column-narrowed"],
  ["numeric(18,2)[]", "numeric(18,0)[]", "breaking column-scale-lowered", "breaking column-retyped"],
  ["numeric(10,2)[]", "numeric(20,2)[]", "warning column-widened", "compatible column-narrowed"],
  ["double precision[]", "numeric[]", "warning column-number-changed", "breaking column-retyped"],
] as const;

/** Changes of the types of columns, and of how their values are served. */
export const TYPE_CHANGES: readonly Row[] = [
  retype(
    "quantity",
    "bigint",
    "breaking column-digits-changed quantity",
    "breaking column-digits-changed quantity",
  ),
  retype("quantity", "smallint", "compatible column-narrowed quantity", "warning column-widened quantity"),
  retype(
    "quantity",
    "double precision",
    "breaking column-retyped quantity",
    "breaking column-scale-lowered quantity",
  ),
  retype(
    "quantity",
    "numeric(10,2)",
    "breaking column-retyped quantity",
    "breaking column-scale-lowered quantity",
  ),
  retype("quantity", "text", "breaking column-retyped quantity", "breaking column-retyped quantity"),
  retype("ratio", "real", "warning column-number-changed ratio", "warning column-widened ratio"),
  retype("ratio", "numeric(20,4)", "breaking column-digits-changed ratio", "breaking column-retyped ratio"),
  retype("ratio", "numeric(10,4)", "warning column-number-changed ratio", "breaking column-retyped ratio"),
  retype("ratio", "integer", "breaking column-scale-lowered ratio", "breaking column-retyped ratio"),
  retype("amount", "numeric(18,0)", "breaking column-scale-lowered amount", "breaking column-retyped amount"),
  retype("amount", "numeric(20,2)", "breaking column-scale-lowered amount", "warning column-widened amount"),
  retype(
    "amount",
    "numeric(10,4)",
    "breaking column-digits-changed amount",
    "breaking column-digits-changed amount",
  ),
  retype("amount", "numeric(18,4)", "compatible column-narrowed amount", "warning column-widened amount"),
  retype("amount", "numeric", "warning column-widened amount", "breaking column-scale-lowered amount"),
  retype("code", "varchar(20)", "warning column-lengthened code", "warning column-shortened code"),
  retype("code", "text", "warning column-lengthened code", "warning column-shortened code"),
  retype("code", "char(10)", "warning column-text-changed code", "warning column-text-changed code"),
  retype(
    "code",
    "citext",
    "warning column-text-changed code",
    "warning column-text-changed code",
    type("code", "text"),
  ),
  retype(
    "code",
    "interval",
    "warning column-text-changed code",
    "warning column-text-changed code",
    type("code", "text"),
  ),
  retype(
    "code",
    "timetz",
    "breaking column-retyped code",
    "breaking column-retyped code",
    type("code", "time"),
  ),
  retype(
    "code",
    "time(0)",
    "breaking column-scale-lowered code",
    "warning column-widened code",
    type("code", "time"),
  ),
  retype("code", "character varying(10)", [], []),
  retype(
    "sold_at",
    "timestamp",
    "warning column-zone-converted sold_at",
    "warning column-zone-converted sold_at",
  ),
  retype(
    "sold_at",
    "timestamptz(0)",
    "breaking column-scale-lowered sold_at",
    "warning column-widened sold_at",
  ),
  row(
    "a time zone is named for a timestamp",
    ({ columns }) => (columns.local_time.meta = { routewright: { timezone: "Europe/Berlin" } }),
    "breaking column-zone-changed local_time",
    "breaking column-zone-changed local_time",
  ),
  row(
    "the model's time zone changes",
    (model) => (model.config.meta.routewright = { timezone: "Asia/Tokyo" }),
    "breaking column-zone-changed local_time",
    "breaking column-zone-changed local_time",
    (model) => (model.config.meta.routewright = { timezone: "Europe/Berlin" }),
  ),
  row(
    "wide numbers become strings",
    numbersAsStrings,
    ["breaking column-retyped amount", "breaking column-retyped total"],
    ["breaking column-retyped amount", "breaking column-retyped total"],
  ),
  ...(["bigint", "numeric(20,2)"] as const).map((to) =>
    retype(
      "quantity",
      to,
      "breaking column-retyped quantity",
      "breaking column-retyped quantity",
      numbersAsStrings,
    ),
  ),
  retype("sold_at", "timestamp with time zone", [], []),
  retype("sold_at", "date", "breaking column-retyped sold_at", "breaking column-retyped sold_at"),
  retype("reference", "text", "breaking column-retyped reference", "warning column-text-changed reference"),
  retype("labels", "text", "breaking column-retyped labels", "breaking column-retyped labels"),
  retype("labels", "integer[]", "breaking column-retyped labels", "breaking column-retyped labels"),
  ...WIDE_LISTS.map(([from, to, forwards, backwards]) =>
    row(
      `column labels of ${from} becomes ${to}`,
      type("labels", to),
      `${forwards} labels`,
      `${backwards} labels`,
      type("labels", from),
    ),
  ),
  retype("payload", "text", "breaking column-retyped payload", "breaking column-retyped payload"),
  retype("payload", null, [], []),
  retype("id", "smallint", "compatible column-narrowed id", "warning column-widened id"),
];
