import {
  type AskedGrouping,
  compareGrains,
  type Grain,
  type RollUp,
  withDigest,
} from "@routewright/runtime/model";
import type { Warehouse } from "@routewright/runtime/server";
import type { CatalogueEntry } from "../catalogue/catalogue.js";

/** Groups that are compared at each end of their order. */
export const SAMPLE = 100;

type Direction = "ASC" | "DESC";

/** A group with its totals. `text`: with all digits; `values`: by `groupKey` and `totalKey`. */
export interface GroupLine {
  readonly text: string;
  readonly values: Readonly<Record<string, string | number | boolean | null>>;
}

type Conditions = Parameters<Warehouse["rows"]>[0]["selection"]["conditions"];

export const groupKey = (i: number): string => `g${String(i)}`;
export const totalKey = (i: number): string => `t${String(i)}`;

/** Positions of the groups in the order in which they are read: times first, the finest before, by which most tables are sorted or indexed. */
function orderOf({ groups }: RollUp): readonly number[] {
  const all = groups.map((group, i) => ({ grain: group.grain, i }));
  const times = all
    .flatMap(({ grain, i }) => (grain === undefined ? [] : [{ grain, i }]))
    .toSorted((a, b) => compareGrains(a.grain, b.grain));
  return [...times, ...all.filter(({ grain }) => grain === undefined)].map(({ i }) => i);
}

export interface GroupsReading {
  readonly direction: Direction;
  /** Of the rows themselves, not of the roll-up. */
  readonly ofRows?: true;
  readonly conditions?: Conditions;
  readonly timeoutMs: number;
}

/** The first groups of an order. `isRead`: whether the roll-up has answered. */
export async function readGroups(
  { relation, aggregate }: CatalogueEntry,
  rollUp: RollUp,
  { direction, ofRows, conditions = [], timeoutMs }: GroupsReading,
  warehouse: Pick<Warehouse, "rows">,
): Promise<{ readonly lines: readonly GroupLine[]; readonly isRead: boolean }> {
  const { of, groups, totals } = rollUp;
  const asked = groups.map(({ value, grain }, i) => ({
    key: groupKey(i),
    name: value,
    ...(grain && { grain }),
  }));
  const grouping: AskedGrouping = {
    groups: asked,
    measures: totals.map(({ aggregation, value }, i) => ({
      name: totalKey(i),
      groups: [],
      metric: { kind: "leaf", fact: of, value, aggregation, filters: [] },
    })),
    aggregate: withDigest({
      of: "metrics",
      relations: (aggregate?.relations ?? []).filter(({ name }) => name === of),
      facts: [{ relation: of, joins: [] }],
      dimensions: groups.map(({ value, grain }) => ({
        name: value,
        ...(grain && { grain }),
        places: [{ fact: of, value }],
      })),
      measures: [],
      spines: [],
      columns: [],
      filters: [],
      // Without totals it answers nothing.
      rollUps: [ofRows ? { ...rollUp, totals: [] } : rollUp],
    }),
  };
  let isRead = false;
  const rows = await warehouse.rows(
    {
      relation,
      selection: {
        grouping,
        conditions,
        sort: orderOf(rollUp).map((i) => [groupKey(i), direction]),
        page: { limit: SAMPLE, offset: 0, lookAhead: false },
      },
      format: "ndjson",
      timeoutMs,
    },
    { ...CONTEXT, onRollUp: (read) => (isRead = read !== null) },
  );
  return { lines: await linesOf(rows), isRead };
}

async function linesOf(rows: Awaited<ReturnType<Warehouse["rows"]>>): Promise<readonly GroupLine[]> {
  const parts: Uint8Array[] = [];
  if (rows.kind === "buffered") parts.push(...rows.parts);
  else
    for (let chunk = await rows.chunks.next(); !chunk.done; chunk = await rows.chunks.next())
      parts.push(Buffer.from(chunk.value));
  const lines = Buffer.concat(parts).toString().split("\n");
  return lines
    .filter((line) => line !== "")
    .map((text) => ({ text, values: JSON.parse(text) as GroupLine["values"] }));
}

const CONTEXT = {
  id: "verify",
  caller: { id: "verify", tier: "tier3", org: null, allowed: null, key: null },
  version: null,
  isStillNeeded: () => true,
} as const;

/** Some of the groups at one end of their order, and the condition that only rows of these groups meet. */
interface GroupsAtEnd {
  readonly conditions: Conditions;
  readonly isIn: (line: GroupLine) => boolean;
}

/** The groups that have the first value by which all are sorted, and those beyond; null without any group. */
export function groupsAtEnd(
  rollUp: RollUp,
  lines: readonly GroupLine[],
  direction: Direction,
): GroupsAtEnd | null {
  const [leading] = orderOf(rollUp);
  const group = leading === undefined ? undefined : rollUp.groups[leading];
  if (group === undefined || leading === undefined) return null;
  const { value: column, grain } = group;
  const valueOf = ({ values }: GroupLine) => values[groupKey(leading)] ?? null;
  // Null is first or last in an order: it says nothing of the rows at the end.
  const first = lines.find((line) => valueOf(line) !== null) ?? lines[0];
  if (first === undefined) return null;
  const value = valueOf(first);
  const isIn = (line: GroupLine): boolean => valueOf(line) === value;
  if (value === null)
    return { conditions: [{ name: column, column, operator: "null", type: "boolean", value: "true" }], isIn };
  const text = String(value);
  if (grain === undefined)
    return { conditions: [{ name: column, column, operator: "=", type: "string", value: text }], isIn };
  const isFirst = direction === "ASC";
  const day = isFirst ? lastDayOf(text, grain) : text.slice(0, 10);
  const isInDays = (line: GroupLine): boolean => {
    const own = valueOf(line);
    return typeof own === "string" && (isFirst ? own.slice(0, 10) <= day : own.slice(0, 10) >= day);
  };
  const operator = isFirst ? "<=" : ">=";
  return { conditions: [{ name: column, column, operator, type: "date", value: day }], isIn: isInDays };
}

/** Months of the grains that are longer than a week. */
const MONTHS: Partial<Record<Grain, number>> = { month: 1, quarter: 3, year: 12 };

/** The last day of the period that begins with a time. */
function lastDayOf(text: string, grain: Grain): string {
  const date = new Date(`${text.slice(0, 10)}T00:00:00Z`);
  const months = MONTHS[grain];
  if (months !== undefined) date.setUTCMonth(date.getUTCMonth() + months, 0);
  else if (grain === "week") date.setUTCDate(date.getUTCDate() + 6);
  return date.toISOString().slice(0, 10);
}
