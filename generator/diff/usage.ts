import {
  type Aggregate,
  failed,
  groupedBy,
  type Outcome,
  servedPaths,
  succeeded,
} from "@routewright/runtime/model";
import type { Catalogue } from "../catalogue/catalogue.js";
import type { RecordedUsage, RouteUsage, ShapeUsage } from "@routewright/runtime/server";
import { listOf, number, openRecord, text, textOrNull } from "@routewright/runtime/model";
import { schemaErrorOf, validatorOf } from "../manifest/schema-errors.js";
import { parseJson } from "../manifest/manifest.js";
import { byText } from "../manifest/strings.js";
import { readSource } from "../artifacts/source.js";
import { type Change, type ChangeUsage, inOrder } from "./change.js";
import { hitsOf, type KeyUsage, usageOfShape } from "./hits.js";

/** Days that decide whether anybody uses something, if `--usage-days` does not say so: the full ones before today, in UTC. */
export const USAGE_DAYS = 30;

/** The text of a usage file: lines of `routewright usage --by all --json`. */
export const USAGE_SCHEMA = listOf(
  openRecord({ day: text, key: text, org: text, route: text, parameter: textOrNull, requests: number }),
);

const errorsIn = validatorOf("usage-file");

/** Reads a usage file. */
export async function readUsageFile(
  file: string,
  today: string,
  days: number,
): Promise<Outcome<RecordedUsage>> {
  const source = await readSource(file);
  if (!source.ok) return source;
  const json = parseJson(source.value.text, file);
  if (!json.ok) return json;
  const [error] = errorsIn(json.value).map(schemaErrorOf);
  if (error !== undefined) {
    const { at, message } = error;
    const problem = `${file} is not a file of \`routewright usage --by all --json\`${at && `, ${at}`}: ${message}`;
    return failed(problem);
  }
  const since = firstDay(today, days);
  const recent = (json.value as readonly (RouteUsage & { readonly day: string })[]).filter(
    ({ day }) => day >= since,
  );
  const recorded = recent.filter(({ key, route, requests }) => key === "" && route === "" && requests === 0);
  return succeeded({ lines: recent, recordedDays: recorded.map(({ day }) => day) });
}

/** The first of the days, as `2026-01-31`. */
export function firstDay(today: string, days: number): string {
  return daysBefore(today, days);
}

function daysBefore(today: string, days: number): string {
  return new Date(Date.parse(today) - days * 24 * 60 * 60_000).toISOString().slice(0, 10);
}

/** What becomes of a breaking change that hits nobody. */
export const UNUSED = ["breaking", "warning"] as const;
export type UnusedSeverity = (typeof UNUSED)[number];

/** Rates changes that hit nobody. */
export function rateUnused(changes: readonly Change[], severity: UnusedSeverity): readonly Change[] {
  return changes
    .map((change) => (change.usage?.state === "unused" ? { ...change, severity } : change))
    .sort(inOrder);
}

/** The paths whose calls a change at a path hits: an endpoint's own path stands for its former ones, too. */
export function pathsHit({ entries }: Catalogue): (path: string) => readonly string[] {
  const served = new Map(entries.map((entry) => [entry.path, servedPaths(entry)]));
  return (path) => served.get(path) ?? [path];
}

/** Gives each breaking change its usage. */
export function withUsage(
  changes: readonly Change[],
  base: Catalogue,
  recorded: RecordedUsage,
  { today, days }: { readonly today: string; readonly days: number },
): readonly Change[] {
  const { lines, recordedDays, shapes, rest } = recorded;
  const known = new Set(recordedDays);
  const asked = Array.from({ length: days }, (_, i) => daysBefore(today, i + 1));
  const period = { days, recordedDays: asked.filter((day) => known.has(day)).length };
  const pathsOf = pathsHit(base);
  const aggregates = new Map(base.entries.map(({ path, aggregate }) => [path, aggregate]));
  const shapesByRoute = groupedBy(shapes ?? [], ({ route }) => route);
  const byRoute = groupedBy(lines, ({ route }) => route);
  return changes.map((change) => {
    if (change.severity !== "breaking") return change;
    const paths = pathsOf(change.endpoint);
    const usage = usageOf(change, keysIn(paths.flatMap((path) => byRoute.get(path) ?? [])), period);
    if (shapes === undefined) return { ...change, usage };
    const own = paths.flatMap((path) => shapesByRoute.get(path) ?? []);
    const others = paths.reduce((sum, path) => sum + (rest?.get(path) ?? 0), 0);
    return { ...change, usage: usageByShapes(change, usage, own, others, aggregates.get(change.endpoint)) };
  });
}

function keysIn(lines: readonly RouteUsage[]): ReadonlyMap<string, KeyUsage> {
  const keys = new Map<string, KeyUsage>();
  for (const { key, org, parameter, requests } of lines) {
    const one = keys.get(key) ?? { org: "", requests: 0, byParameter: new Map<string, number>() };
    keys.set(key, one);
    one.org ||= org;
    if (parameter === null) one.requests += requests;
    else one.byParameter.set(parameter, (one.byParameter.get(parameter) ?? 0) + requests);
  }
  return keys;
}

/** Shapes say which of a caller's requests a change hits: of two parameters, whether they are asked together. */
function usageByShapes(
  change: Change,
  counted: ChangeUsage,
  shapes: readonly ShapeUsage[],
  rest: number,
  aggregate: Aggregate | undefined,
): ChangeUsage {
  const hit = shapes.filter((line) => hitsOf(change, usageOfShape(line, aggregate)) > 0);
  const isComplete = rest <= 0 && counted.recordedDays === counted.days;
  return {
    ...counted,
    state: hit.length > 0 ? "used" : isComplete ? "unused" : "unknown",
    ...callersOf(hit),
    shapes: [...groupedBy(hit, ({ shape }) => shape)]
      .map(([shape, lines]) => ({
        shape,
        ...callersOf(lines),
        lastSeen: lines.map(({ lastSeen }) => lastSeen).reduce((a, b) => (a > b ? a : b)),
      }))
      .sort((a, b) => b.requests - a.requests || byText(a.shape, b.shape)),
    rest: Math.max(0, rest),
  };
}

function callersOf(lines: readonly ShapeUsage[]) {
  const distinct = (names: readonly string[]): readonly string[] => [...new Set(names)].sort();
  return {
    keys: distinct(lines.map(({ key }) => key)),
    organizations: distinct(lines.map(({ org }) => org)).filter((org) => org !== ""),
    requests: lines.reduce((sum, { requests }) => sum + requests, 0),
  };
}

function usageOf(
  change: Change,
  keys: ReadonlyMap<string, KeyUsage>,
  { days, recordedDays }: Pick<ChangeUsage, "days" | "recordedDays">,
): ChangeUsage {
  const hit = [...keys]
    .map(([key, one]) => ({ key, org: one.org, requests: hitsOf(change, one) }))
    .filter(({ requests }) => requests > 0);
  const state = hit.length > 0 ? "used" : recordedDays === days ? "unused" : "unknown";
  return {
    state,
    keys: hit.map(({ key }) => key).sort(),
    organizations: [...new Set(hit.map(({ org }) => org))].filter((org) => org !== "").sort(),
    requests: hit.reduce((sum, { requests }) => sum + requests, 0),
    parameters: parametersOf([...keys.values()]),
    recordedDays,
    days,
  };
}

function parametersOf(keys: readonly KeyUsage[]): Readonly<Record<string, number>> {
  const counts = new Map<string, number>();
  for (const { byParameter } of keys)
    for (const [name, requests] of byParameter) counts.set(name, (counts.get(name) ?? 0) + requests);
  return Object.fromEntries([...counts].sort(([one, a], [other, b]) => b - a || (one < other ? -1 : 1)));
}
