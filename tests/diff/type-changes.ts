import { type Edit, retype, row, type Row, type } from "./feature-model.js";

const numbersAsStrings: Edit = (model) => (model.config.meta.routewright = { numbers: "string" });

/** Lists keep their numbers whatever their digits: no client has strings in them. */
const WIDE_LISTS = [
  ["integer[]", "bigint[]", "widened", "narrowed"],
  ["bigint[]", "numeric[]", "retyped", "scale-lowered"],
  ["bigint[]", "numeric(20,0)[]", "widened", "narrowed"],
  ["numeric(18,2)[]", "numeric(18,0)[]", "scale-lowered", "retyped"],
  ["numeric(10,2)[]", "numeric(20,2)[]", "widened", "narrowed"],
  ["double precision[]", "numeric[]", "number-changed", "retyped"],
] as const;

/** Changes of the types of columns, and of how their values are served. */
export const TYPE_CHANGES: readonly Row[] = [
  retype("quantity", "bigint", "digits-changed", "digits-changed"),
  retype("quantity", "smallint", "narrowed", "widened"),
  retype("quantity", "double precision", "retyped", "scale-lowered"),
  retype("quantity", "numeric(10,2)", "retyped", "scale-lowered"),
  retype("quantity", "text", "retyped", "retyped"),
  retype("ratio", "real", "number-changed", "widened"),
  retype("ratio", "numeric(20,4)", "digits-changed", "retyped"),
  retype("ratio", "numeric(10,4)", "number-changed", "retyped"),
  retype("ratio", "integer", "scale-lowered", "retyped"),
  retype("amount", "numeric(18,0)", "scale-lowered", "retyped"),
  retype("amount", "numeric(20,2)", "scale-lowered", "widened"),
  retype("amount", "numeric(10,4)", "digits-changed", "digits-changed"),
  retype("amount", "numeric(18,4)", "narrowed", "widened"),
  retype("amount", "numeric", "widened", "scale-lowered"),
  retype("code", "varchar(20)", "lengthened", "shortened"),
  retype("code", "text", "lengthened", "shortened"),
  retype("code", "char(10)", "text-changed", "text-changed"),
  retype("code", "citext", "text-changed", "text-changed", type("code", "text")),
  row(
    "column code becomes interval",
    type("code", "interval"),
    ["parameter-values-narrowed code", "column-text-changed code"],
    "column-text-changed code",
    type("code", "text"),
  ),
  retype("code", "timetz", "retyped", "retyped", type("code", "time")),
  retype("code", "time(0)", "scale-lowered", "widened", type("code", "time")),
  retype("code", "character varying(10)", "", ""),
  retype("sold_at", "timestamp", "zone-converted", "zone-converted"),
  retype("sold_at", "timestamptz(0)", "scale-lowered", "widened"),
  row(
    "a time zone is named for a timestamp",
    ({ columns }) => (columns.local_time.meta = { routewright: { timezone: "Europe/Berlin" } }),
    "column-zone-changed local_time",
    "column-zone-changed local_time",
  ),
  row(
    "the model's time zone changes",
    (model) => (model.config.meta.routewright = { timezone: "Asia/Tokyo" }),
    "column-zone-changed local_time",
    "column-zone-changed local_time",
    (model) => (model.config.meta.routewright = { timezone: "Europe/Berlin" }),
  ),
  row(
    "wide numbers become strings",
    numbersAsStrings,
    ["column-retyped amount", "column-retyped total"],
    ["column-retyped amount", "column-retyped total"],
  ),
  ...(["bigint", "numeric(20,2)"] as const).map((to) =>
    retype("quantity", to, "retyped", "retyped", numbersAsStrings),
  ),
  retype("sold_at", "timestamp with time zone", "", ""),
  retype("sold_at", "date", "retyped", "retyped"),
  retype("reference", "text", "retyped", "text-changed"),
  retype("labels", "text", "retyped", "retyped"),
  retype("labels", "integer[]", "retyped", "retyped"),
  ...WIDE_LISTS.map(([from, to, forwards, backwards]) =>
    row(
      `column labels of ${from} becomes ${to}`,
      type("labels", to),
      `column-${forwards} labels`,
      `column-${backwards} labels`,
      type("labels", from),
    ),
  ),
  retype("payload", "text", "retyped", "retyped"),
  retype("payload", null, "", ""),
  retype("id", "smallint", "narrowed", "widened"),
];
