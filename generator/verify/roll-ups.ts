import { isDeepStrictEqual } from "node:util";
import type { RollUp } from "@routewright/runtime/model";
import { reachedTimeLimit, type Warehouse } from "@routewright/runtime/server";
import type { Catalogue, CatalogueEntry } from "../catalogue/catalogue.js";
import type { Mismatch } from "./checks.js";
import { type GroupLine, groupsAtEnd, readGroups, type GroupsReading, SAMPLE } from "./roll-up-groups.js";
import { uncompared, unread, wrong } from "./roll-up-mismatches.js";

/** Times that statements may take, in milliseconds. */
export interface CompareLimits {
  /** One that groups all rows; then the rows of a few groups are read, at once where it is 0. */
  readonly all: number;
  /** Any other. */
  readonly some: number;
}

const LIMITS: CompareLimits = { all: 10_000, some: 30_000 };

export function hasRollUps({ entries }: Catalogue): boolean {
  return entries.some(({ aggregate }) => aggregate?.rollUps !== undefined);
}

/** Compares each roll-up with the rows that it is made from, by the statements that serve. `warehouse`: one that reads roll-ups. */
export async function verifyRollUps(
  { entries }: Catalogue,
  warehouse: Pick<Warehouse, "rows">,
  isToCheck: (entry: CatalogueEntry) => boolean,
  limits = LIMITS,
): Promise<readonly Mismatch[]> {
  const differences: Mismatch[] = [];
  for (const { entry, rollUp } of eachRollUp(entries.filter(isToCheck)))
    differences.push(...(await verifyRollUp(entry, rollUp, warehouse, limits)));
  return differences;
}

interface FoundRollUp {
  readonly entry: CatalogueEntry;
  readonly rollUp: RollUp;
}

/** Each roll-up once, with all totals that endpoints read of it. */
function eachRollUp(entries: readonly CatalogueEntry[]): readonly FoundRollUp[] {
  const found = new Map<string, FoundRollUp>();
  for (const entry of entries)
    for (const rollUp of entry.aggregate?.rollUps ?? []) {
      const key = JSON.stringify({ ...rollUp, totals: [] });
      const both = merged(found.get(key), { entry, rollUp });
      found.set(both === null ? JSON.stringify(rollUp) : key, both ?? { entry, rollUp });
    }
  return [...found.values()];
}

/** The same with the totals of another one; null where values of one name are not the same ones. */
function merged(known: FoundRollUp | undefined, other: FoundRollUp): FoundRollUp | null {
  if (known === undefined) return other;
  const { aggregate } = known.entry;
  const { of } = other.rollUp;
  const [own, more] = [known, other].map(({ entry }) =>
    entry.aggregate?.relations.find(({ name }) => name === of),
  );
  if (aggregate === undefined || own === undefined || more === undefined) return null;
  const valueOf = (name: string) => own.values.find((value) => value.name === name);
  const added = more.values.filter(({ name }) => valueOf(name) === undefined);
  const isSame = more.values.every(
    (value) => added.includes(value) || isDeepStrictEqual(value, valueOf(value.name)),
  );
  const relation = { ...own, values: [...own.values, ...added] };
  if (!isSame || !isDeepStrictEqual({ ...more, values: relation.values }, relation)) return null;
  const totals = [...known.rollUp.totals];
  for (const total of other.rollUp.totals)
    if (!totals.some((each) => isDeepStrictEqual(each, total))) totals.push(total);
  const relations = aggregate.relations.map((each) => (each.name === of ? relation : each));
  return {
    entry: { ...known.entry, aggregate: { ...aggregate, relations } },
    rollUp: { ...known.rollUp, totals },
  };
}

async function verifyRollUp(
  entry: CatalogueEntry,
  rollUp: RollUp,
  warehouse: Pick<Warehouse, "rows">,
  limits: CompareLimits,
): Promise<readonly Mismatch[]> {
  const read: Read = (reading) => inTime(() => readGroups(entry, rollUp, reading, warehouse));
  let all = limits.all;
  for (const direction of ["ASC", "DESC"] as const) {
    const found = await read({ direction, timeoutMs: limits.some });
    if (found === null) return uncompared(entry, rollUp, limits.some);
    if (!found.isRead) return unread(entry, rollUp);
    const both = await besideRows(read, rollUp, found.lines, { direction, all, some: limits.some });
    if (both === null) return uncompared(entry, rollUp, limits.some);
    if (both.isPart) all = 0;
    const { own, other } = both;
    const at = own.findIndex(({ text }, i) => text !== other[i]?.text);
    if (at >= 0 || own.length !== other.length)
      return wrong(entry, rollUp, own[at], other[at < 0 ? own.length : at]);
  }
  return [];
}

/** Reads groups; null where the statement takes too long. */
type Read = (reading: GroupsReading) => Promise<Awaited<ReturnType<typeof readGroups>> | null>;

/** Groups of a roll-up beside those of the rows that it is made from. `isPart`: of those that have a few values only. */
interface ComparedGroups {
  readonly own: readonly GroupLine[];
  readonly other: readonly GroupLine[];
  readonly isPart: boolean;
}

/** Of all rows, or of a few groups at the end where all take too long; null where these do, too. */
async function besideRows(
  read: Read,
  rollUp: RollUp,
  found: readonly GroupLine[],
  { direction, all: timeoutMs, some }: CompareLimits & Pick<GroupsReading, "direction">,
): Promise<ComparedGroups | null> {
  const all = timeoutMs === 0 ? null : await read({ direction, timeoutMs, ofRows: true });
  if (all !== null) return { own: all.lines, other: found, isPart: false };
  const end = groupsAtEnd(rollUp, found, direction);
  if (end === null) return null;
  const { conditions, isIn } = end;
  const part = await read({ direction, timeoutMs: some, ofRows: true, conditions });
  if (part === null) return null;
  const other = found.filter(isIn);
  const last = found[SAMPLE - 1];
  const isCut = last !== undefined && isIn(last);
  return { own: isCut ? part.lines.slice(0, other.length) : part.lines, other, isPart: true };
}

/** Null where a statement takes too long, or what it reads stays locked. */
async function inTime<Value>(read: () => Promise<Value>): Promise<Value | null> {
  try {
    return await read();
  } catch (error) {
    if (!reachedTimeLimit(error)) throw error;
    return null;
  }
}
