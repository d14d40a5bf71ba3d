import { createHash } from "node:crypto";

/** A table of a random shape: its rows as SQL, and its columns by type. */
export interface RandomTable {
  readonly name: string;
  readonly sql: string;
  readonly columns: Readonly<Record<string, string>>;
}

/** Numbers that a seed decides: the same in every run. */
function chooser(seed: number) {
  let turn = 0;
  const number = (below: number): number =>
    createHash("sha256")
      .update(`${String(seed)} ${String((turn += 1))}`)
      .digest()
      .readUInt32BE() % below;
  return { number, of: <T>(...all: readonly [T, ...T[]]): T => all[number(all.length)] ?? all[0] };
}

type Column = readonly [name: string, type: string, sql: string];

const CATEGORIES = ["token", "bridge", "region", "label", "platform"];

/** One to two thousand five hundred rows by times, categories and measures; some are beyond what a browser reads. */
export function randomTables(count: number): readonly RandomTable[] {
  return Array.from({ length: count }, (_, seed) => {
    const { number, of } = chooser(seed);
    const rows = of(1, 7, 60, 400, 1500, 2500, 6000, seed % 16 === 3 ? 24_000 : 900);
    const each = of(1, 3, 5, 24);
    const times: readonly Column[] = [
      ["day", "date", `date '2021-01-01' + g / ${String(each)}`],
      ["at", "timestamptz", `timestamptz '2024-01-01Z' + g / ${String(each)} * interval '1 hour'`],
      ["week", "date", `date '2016-01-04' + g / ${String(each)} * 7`],
    ];
    const time = of(...(times as [Column, ...Column[]]), null);
    const categories = CATEGORIES.slice(0, number(3)).map((name, i): Column => {
      const values = of(2, 4, 7, 12, 50);
      const total = of(true, false, false)
        ? `CASE WHEN g % ${String(values)} = 0 THEN 'All' ELSE`
        : "CASE WHEN g % 97 = 96 THEN NULL ELSE";
      return [name, "text", `${total} '${name} ' || (g / ${String(i + 1)} % ${String(values)}) END`];
    });
    const all: readonly [Column, ...Column[]] = [
      ["value", "bigint", "(g::bigint * 7919) % 100003"],
      ["volume_usd", "double precision", "((g::bigint * 7919) % 100003) / 7.0::float8"],
      ["amount", "numeric(18,2)", "(((g::bigint * 104729) % 999983) / 100.0)::numeric(18,2)"],
      ["price", "numeric", "CASE WHEN g % 5 = 0 THEN NULL ELSE 1 + (g % 89) / 10.0 END"],
      ["share_pct", "double precision", "(g % 101)::float8"],
      ["netflow", "double precision", "sin(g) * 1000"],
      ["transfers", "integer", "g % 13"],
    ];
    const measures = [...new Set([of(...all), of(...all)])];
    const columns: readonly Column[] = [
      ...(time === null ? [] : [time]),
      ...categories,
      ...measures,
      ["row_id", "bigint", "g"],
    ];
    const selected = columns.map(([name, type, sql]) => `(${sql})::${type} AS "${name}"`).join(", ");
    return {
      name: `t${String(seed)}`,
      sql: `SELECT ${selected} FROM generate_series(0, ${String(rows - 1)}) g`,
      columns: Object.fromEntries(columns.map(([name, type]) => [name, type])),
    };
  });
}
