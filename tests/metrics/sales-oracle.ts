/** A request for groups of sales, and the same as SQL of PostgreSQL by hand. */
export interface SalesQuestion {
  readonly groups: readonly string[];
  readonly measures: readonly string[];
  readonly where?: readonly (readonly [field: string, sql: string])[];
  readonly having?: readonly (readonly [field: string, sql: string])[];
  readonly totals?: true;
  readonly top?: {
    readonly count: number;
    readonly by: string;
    readonly direction?: "ASC" | "DESC";
    readonly other?: true;
  };
  readonly compare?: {
    readonly by: "previous_period" | "previous_year";
    readonly start: string;
    readonly end: string;
  };
}

export const MEASURES: Readonly<Record<string, string>> = {
  orders: "count(*)",
  revenue: "sum(amount)",
  buyers: "count(DISTINCT buyer)",
  mean: "avg(amount)",
  least: "min(amount)",
  refunds: "sum(amount) FILTER (WHERE amount < 0)",
};

export const GROUPS: Readonly<Record<string, string>> = {
  region: "region",
  product: "product",
  day__day: "day",
  day__week: "date_trunc('week', day::timestamp)::date",
  day__month: "date_trunc('month', day::timestamp)::date",
  day__quarter: "date_trunc('quarter', day::timestamp)::date",
  day__year: "date_trunc('year', day::timestamp)::date",
};

export function requestOf(question: SalesQuestion): string {
  const { groups, measures, where = [], having = [], totals, top, compare } = question;
  const parts: readonly (readonly [string, string | undefined])[] = [
    ["group_by", groups.join(",") || undefined],
    ["measures", measures.join(",")],
    ...[...where, ...having].map(([field]) => field.split("=") as [string, string]),
    ["totals", totals && "true"],
    ["top", top && String(top.count)],
    ["sort_by", top?.by],
    ["sort_direction", top?.direction],
    ["other", top?.other && "true"],
    ["compare", compare?.by],
    ["start_date", compare?.start],
    ["end_date", compare?.end],
  ];
  return parts
    .flatMap(([name, value]) =>
      value === undefined ? [] : [`${encodeURIComponent(name)}=${encodeURIComponent(value)}`],
    )
    .join("&");
}

const all = (conditions: readonly string[]): string =>
  conditions.length === 0 ? "TRUE" : conditions.join(" AND ");

/** The rows in any order, from the whole of the table. */
export function oracleOf(question: SalesQuestion, table: string): string {
  const { groups, measures, where = [], having = [], totals, top, compare } = question;
  const keys = groups.map((name) => `${GROUPS[name] ?? ""} AS "${name}"`);
  const values = measures.map((name) => `${MEASURES[name] ?? ""} AS "${name}"`);
  const by = groups.map((name) => GROUPS[name] ?? "");
  const conditions = [
    ...where.map(([, sql]) => sql),
    ...(compare ? [`day BETWEEN '${compare.start}' AND '${compare.end}'`] : []),
  ];
  const level = `${String(groups.length)}${by.map((each) => ` - grouping(${each})`).join("")} AS level`;
  const grouping =
    by.length === 0 ? "" : totals ? `GROUP BY ROLLUP (${by.join(", ")})` : `GROUP BY ${by.join(", ")}`;
  const of = (own: readonly string[], from: string, end = "") =>
    `SELECT ${[...own, ...values].join(", ")} FROM ${from} WHERE ${all(conditions)} ${end}`;
  const met = all(having.map(([, sql]) => sql));
  const found = of([...keys, ...(totals ? [level] : [])], table, `${grouping} HAVING ${met}`);
  if (top !== undefined) return topOf(question, table, of);
  return compare === undefined ? found : comparedOf(question, found, table);
}

function topOf(
  { groups, having = [], measures, totals, top }: SalesQuestion,
  table: string,
  of: (own: readonly string[], from: string, end?: string) => string,
): string {
  const { count = 0, by = "", direction = "DESC", other } = top ?? {};
  const keys = groups.map((name) => `${GROUPS[name] ?? ""} AS "${name}"`);
  const plain = groups.map((name) => GROUPS[name] ?? "").join(", ");
  const met = all(having.map(([, sql]) => sql));
  const order = [`"${by}" ${direction} NULLS LAST`, ...groups.map((name) => `"${name}" ASC NULLS LAST`)].join(
    ", ",
  );
  const names = [...groups, ...measures].map((name) => `"${name}"`).join(", ");
  const nulls = groups.map((name) => `NULL::${name.startsWith("day") ? "date" : "text"} AS "${name}"`);
  const keyed = groups.map((name, i) => `, ${GROUPS[name] ?? ""} AS k${String(i)}`).join("");
  const same = groups.map((name, i) => `r."${name}" IS NOT DISTINCT FROM t.k${String(i)}`).join(" AND ");
  const behind = `(SELECT t.* FROM (SELECT *${keyed} FROM ${table}) t WHERE EXISTS (SELECT FROM ranked r WHERE n > ${String(count)} AND ${same})) b`;
  const extra = (level: number, isOther: boolean) =>
    `${totals ? `, ${String(level)} AS level` : ""}${other ? `, ${String(isOther)} AS other` : ""}`;
  const parts = [
    `SELECT ${names}${extra(groups.length, false)} FROM ranked WHERE n <= ${String(count)}`,
    ...(other
      ? [
          `SELECT ${names}${extra(0, true)} FROM (${of(nulls, behind)}) o WHERE EXISTS (SELECT FROM ranked WHERE n > ${String(count)})`,
        ]
      : []),
    ...(totals
      ? groups.map((_, i) => {
          const own = groups.slice(0, i);
          const shown = groups.map((name, k) => (k < i ? keys[k] : nulls[k]) ?? name);
          const grouped =
            own.length === 0 ? "" : `GROUP BY ${own.map((name) => GROUPS[name] ?? "").join(", ")}`;
          return `SELECT ${names}${extra(i, false)} FROM (${of(shown, table, `${grouped} HAVING ${met}`)}) t`;
        })
      : []),
  ];
  return (
    `WITH found AS (${of(keys, table, `GROUP BY ${plain} HAVING ${met}`)}), ` +
    `ranked AS (SELECT *, row_number() OVER (ORDER BY ${order}) AS n FROM found) ${parts.join(" UNION ALL ")}`
  );
}

function comparedOf(
  { groups, measures, where = [], compare }: SalesQuestion,
  found: string,
  table: string,
): string {
  const { by = "previous_year", start = "", end = "" } = compare ?? {};
  const isWhole = `(extract(day FROM date '${start}') = 1 AND extract(day FROM date '${end}' + 1) = 1)`;
  const months = `(extract(year FROM age(date '${end}' + 1, date '${start}')) * 12 + extract(month FROM age(date '${end}' + 1, date '${start}')))::int`;
  const shift =
    by === "previous_year"
      ? "interval '1 year'"
      : `(CASE WHEN ${isWhole} THEN make_interval(months => ${months}) ELSE make_interval(days => date '${end}' - date '${start}' + 1) END)`;
  const last =
    by === "previous_year"
      ? `(CASE WHEN ${isWhole} THEN (date '${end}' + 1 - interval '1 year')::date - 1 ELSE (date '${end}' - interval '1 year')::date END)`
      : `date '${start}' - 1`;
  const conditions = [
    ...where.map(([, sql]) => sql),
    `day BETWEEN (date '${start}' - ${shift})::date AND ${last}`,
  ];
  const keys = groups.map((name) => `${GROUPS[name] ?? ""} AS "${name}"`);
  const values = measures.map((name) => `${MEASURES[name] ?? ""} AS "${name}"`);
  const grouped =
    groups.length === 0 ? "" : `GROUP BY ${groups.map((name) => GROUPS[name] ?? "").join(", ")}`;
  const earlier = `SELECT ${[...keys, ...values].join(", ")} FROM ${table} WHERE ${all(conditions)} ${grouped}`;
  const on = groups.map((name) =>
    name.startsWith("day")
      ? `p."${name}" = (c."${name}" - ${shift})::date`
      : `p."${name}" IS NOT DISTINCT FROM c."${name}"`,
  );
  const shown = [
    ...groups.map((name) => `c."${name}"`),
    ...measures.flatMap((name) => [
      `c."${name}"`,
      `p."${name}" AS "${name}__previous"`,
      `c."${name}" - p."${name}" AS "${name}__change"`,
    ]),
  ];
  return `SELECT ${shown.join(", ")} FROM (${found}) c LEFT JOIN (${earlier}) p ON ${all(on)}`;
}
