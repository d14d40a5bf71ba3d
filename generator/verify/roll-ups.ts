import type { AskedGrouping, RollUp } from "@routewright/runtime/model";
import { withDigest } from "@routewright/runtime/model";
import { QueryTimeout, type Warehouse } from "@routewright/runtime/server";
import type { Catalogue, CatalogueEntry } from "../catalogue/catalogue.js";
import { list, sentence } from "../manifest/strings.js";
import { type Mismatch, mismatchAt } from "./checks.js";

/** Groups that are compared at each end of their order. */
const SAMPLE = 100;
/** A statement that takes longer compares nothing. */
const TIMEOUT_MS = 30_000;

export function hasRollUps({ entries }: Catalogue): boolean {
  return entries.some(({ aggregate }) => aggregate?.rollUps !== undefined);
}

/** Compares each roll-up with the rows that it is made from, by the statements that serve. `warehouse`: one that reads roll-ups. */
export async function verifyRollUps(
  { entries }: Catalogue,
  warehouse: Pick<Warehouse, "rows">,
  isToCheck: (entry: CatalogueEntry) => boolean,
): Promise<readonly Mismatch[]> {
  const differences: Mismatch[] = [];
  const known = new Set<string>();
  for (const entry of entries) {
    for (const rollUp of entry.aggregate?.rollUps ?? []) {
      const key = JSON.stringify(rollUp);
      if (known.has(key) || !isToCheck(entry)) continue;
      known.add(key);
      differences.push(...(await verifyRollUp(entry, rollUp, warehouse)));
    }
  }
  return differences;
}

async function verifyRollUp(
  entry: CatalogueEntry,
  rollUp: RollUp,
  warehouse: Pick<Warehouse, "rows">,
): Promise<readonly Mismatch[]> {
  try {
    for (const direction of ["ASC", "DESC"] as const) {
      const found = await groupsOf(entry, rollUp, direction, warehouse);
      if (!found.isRead) return unread(entry, rollUp);
      const wanted = await groupsOf(entry, { ...rollUp, totals: [] }, direction, warehouse, rollUp);
      const at = wanted.lines.findIndex((line, i) => line !== found.lines[i]);
      if (at >= 0 || wanted.lines.length !== found.lines.length)
        return wrong(entry, rollUp, wanted.lines[at], found.lines[at < 0 ? wanted.lines.length : at]);
    }
  } catch (error) {
    if (!(error instanceof QueryTimeout)) throw error;
  }
  return [];
}

function unread(entry: CatalogueEntry, { relation, of }: RollUp): readonly Mismatch[] {
  return mismatchAt(
    entry,
    "unread-roll-up",
    sentence`The roll-up ${relation.join(".")} is not read: it does not exist, or its columns have other types than the rows of ${of}.`,
    "Build it; give groups the types of what they group, days the type of a date, and sums a type that holds all digits.",
  );
}

function wrong(
  entry: CatalogueEntry,
  { relation, of, groups, totals }: RollUp,
  wanted = "{}",
  found = "{}",
): readonly Mismatch[] {
  const [own, other] = [wanted, found].map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
  const shown = wanted === "{}" ? other : own;
  const group = groups.map(({ column }, i) => {
    const value = shown?.[groupKey(i)] ?? null;
    return value === null
      ? `${column} is null`
      : `${column} = ${JSON.stringify(value).replace(/^"|"$/g, "")}`;
  });
  const isSameGroup = groups.every((_, i) => own?.[groupKey(i)] === other?.[groupKey(i)]);
  const columns = totals
    .filter((_, i) => own?.[totalKey(i)] !== other?.[totalKey(i)])
    .map(({ column }) => column);
  const name = relation.join(".");
  return mismatchAt(
    entry,
    "wrong-roll-up",
    isSameGroup
      ? sentence`The roll-up ${name} has other totals than the rows of ${of} where ${list(group)}: ${list(columns)}.`
      : sentence`The roll-up ${name} and the rows of ${of} have other groups, first where ${list(group)}.`,
    "Build it after the model that it reads, and correct its SQL: one row for each combination of its groups, days in UTC.",
  );
}

const groupKey = (i: number): string => `g${String(i)}`;
const totalKey = (i: number): string => `t${String(i)}`;

/** The first groups of an order with their totals, as lines of JSON. */
async function groupsOf(
  { relation, aggregate }: CatalogueEntry,
  rollUp: RollUp,
  direction: "ASC" | "DESC",
  warehouse: Pick<Warehouse, "rows">,
  { of, groups, totals }: RollUp = rollUp,
): Promise<{ readonly lines: readonly string[]; readonly isRead: boolean }> {
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
      rollUps: [rollUp],
    }),
  };
  let isRead = false;
  const rows = await warehouse.rows(
    {
      relation,
      selection: {
        grouping,
        conditions: [],
        sort: asked.map(({ key }) => [key, direction]),
        page: { limit: SAMPLE, offset: 0, lookAhead: false },
      },
      format: "ndjson",
      timeoutMs: TIMEOUT_MS,
    },
    { ...CONTEXT, onRollUp: (read) => (isRead = read !== null) },
  );
  const parts: Uint8Array[] = [];
  if (rows.kind === "buffered") parts.push(...rows.parts);
  else
    for (let chunk = await rows.chunks.next(); !chunk.done; chunk = await rows.chunks.next())
      parts.push(Buffer.from(chunk.value));
  const text = Buffer.concat(parts).toString();
  return { lines: text.split("\n").filter((line) => line !== ""), isRead };
}

const CONTEXT = {
  id: "verify",
  caller: { id: "verify", tier: "tier3", org: null, allowed: null, key: null },
  version: null,
  isStillNeeded: () => true,
} as const;
