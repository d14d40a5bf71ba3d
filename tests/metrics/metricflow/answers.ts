import { isSameValue } from "../random-requests.js";
import type { MetricFlowAnswer, MetricFlowRequest } from "./oracle.js";

/** A time of MetricFlow's as the API writes it. */
function asServed(value: string | null): string | null {
  const [, day, time] = /^(\d{4}-\d\d-\d\d)T([\d:.]+)(?:\+00:00)?$/.exec(value ?? "") ?? [];
  if (day === undefined || time === undefined) return value;
  return time === "00:00:00" ? day : `${day}T${time.replace(/(\.\d*?)0+$/, "$1")}Z`;
}

const isMidnight = /^(\d{4}-\d\d-\d\d)T00:00:00Z$/;

type Cells = readonly (string | null)[];

function sorted(rows: readonly Cells[], groups: number): readonly Cells[] {
  const key = (row: Cells): string =>
    JSON.stringify(row.slice(0, groups).map((value) => [value === null, value]));
  return rows.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
}

/** MetricFlow's columns by the names of the request: it adds the grain to a time that has none. */
function rowsOf(
  answer: Exclude<MetricFlowAnswer, { error: string }>,
  names: readonly string[],
): readonly Cells[] {
  const columns = answer.columns.map((name) => name.replaceAll('"', ""));
  const positions = names.map((name) => {
    // PostgreSQL cuts longer ones.
    const exact = columns.indexOf(name.slice(0, 63));
    return exact >= 0
      ? exact
      : columns.findIndex((column) => !names.includes(column) && column.startsWith(`${name}__`));
  });
  return answer.rows.map((row) => positions.map((i) => asServed(row[i] ?? null)));
}

/** How the rows of the API differ from MetricFlow's; null where they are the same. */
export function differenceOf(
  { group_by, metrics }: MetricFlowRequest,
  rows: readonly Readonly<Record<string, string | null>>[],
  answer: Exclude<MetricFlowAnswer, { error: string }>,
): { readonly rows: readonly number[]; readonly row: readonly unknown[] } | null {
  const names = [...group_by, ...metrics];
  const groups = group_by.length;
  const got = sorted(
    rows.map((row) => names.map((each) => (row[each] ?? null)?.replace(isMidnight, "$1") ?? null)),
    groups,
  );
  const wanted = sorted(rowsOf(answer, names), groups);
  const isSame = (row: Cells, i: number): boolean =>
    row.every((value, k) => {
      const cell = wanted[i]?.[k];
      // Counts over nothing are 0 here.
      return (
        cell !== undefined && (isSameValue(cell, value) || (groups === 0 && value === "0" && cell === null))
      );
    });
  const first = got.findIndex((row, i) => !isSame(row, i));
  return got.length === wanted.length && first < 0
    ? null
    : { rows: [got.length, wanted.length], row: [got[first], wanted[first]] };
}
