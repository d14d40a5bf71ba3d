import { failed, groupedBy, type Outcome, servedPaths, succeeded } from "@routewright/runtime/model";
import type { Catalogue } from "../catalogue/catalogue.js";
import type { RecordedUsage, RouteUsage, ShapeUsage } from "@routewright/runtime/server";
import { listOf, number, openRecord, text, textOrNull, type ValueOf } from "@routewright/runtime/model";
import { schemaErrorOf, validatorOf } from "../manifest/schema-errors.js";
import { parseJson } from "../manifest/json-text.js";
import { byText } from "../manifest/strings.js";
import { readSource } from "../artifacts/source.js";
import { type Change, type ChangeUsage, inOrder } from "./change.js";
import { hitsOf, type KeyUsage, outcomeOf } from "./hits.js";
import {
  distinctNames,
  type JudgedShape,
  judgeShapes,
  type RecordedShape,
  recordedShapes,
} from "./recorded-shapes.js";

/** Days that decide whether anybody uses something, if `--usage-days` does not say so: the full ones before today, in UTC. */
export const USAGE_DAYS = 30;

/** The text of a usage file: lines of `routewright usage --by all --json`. */
export const USAGE_SCHEMA = listOf(
  openRecord(
    { day: text, key: text, org: text, route: text, parameter: textOrNull, requests: number },
    { succeeded: number, shape: text, lastSeen: text },
  ),
);

const errorsIn = validatorOf("usage-file");

/** Reads what a usage file says of routes, from a day on. */
export async function readUsageFile(
  file: string,
  routes: readonly string[],
  since: string,
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
  return succeeded(usageIn(json.value as readonly UsageFileLine[], new Set(routes), since));
}

type UsageFileLine = ValueOf<typeof USAGE_SCHEMA>[number];

function usageIn(all: readonly UsageFileLine[], routes: ReadonlySet<string>, since: string): RecordedUsage {
  const recent = all.filter(({ day }) => day >= since);
  const recordedDays = recent
    .filter(({ key, route, requests }) => key === "" && route === "" && requests === 0)
    .map(({ day }) => day);
  const own = recent.filter(({ route }) => routes.has(route));
  const lines = own.filter(({ shape }) => shape === undefined);
  const shapes = shapesIn(own);
  return { lines, recordedDays, ...(shapes.length > 0 && { shapes }) };
}

/** The lines of all days and keys of a shape as one. */
function shapesIn(lines: readonly UsageFileLine[]): readonly ShapeUsage[] {
  const formed = lines.filter(({ shape }) => shape !== undefined);
  return [...groupedBy(formed, ({ route, shape = "" }) => `${route} ${shape}`).values()].map((own) => ({
    route: own[0]?.route ?? "",
    shape: own[0]?.shape ?? "",
    requests: own.reduce((sum, { requests }) => sum + requests, 0),
    keys: distinctNames(own.map(({ key }) => key)),
    lastSeen: own.map(({ lastSeen = "" }) => lastSeen).reduce((a, b) => (a > b ? a : b)),
  }));
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

/** What is known of the callers of two revisions. */
export interface UsageVerdict {
  /** The changes, the breaking ones with their usage. */
  readonly changes: readonly Change[];
  readonly shapes?: ShapesVerdict;
}

/** What becomes of the shapes that servers kept at the paths of the changes. */
export interface ShapesVerdict extends Pick<ChangeUsage, "days" | "recordedDays"> {
  readonly shapes: readonly JudgedShape[];
  /** Requests to these paths that succeeded and whose shape was not kept. */
  readonly rest: number;
}

/** Whether who calls an endpoint matters to a change. */
export function asksUsage({ severity, kind }: Change): boolean {
  return severity === "breaking" || outcomeOf(kind) !== "unaffected";
}

/** Gives each breaking change its usage, and each shape what becomes of it. */
export function withUsage(
  changes: readonly Change[],
  base: Catalogue,
  recorded: RecordedUsage,
  { today, days }: { readonly today: string; readonly days: number },
): UsageVerdict {
  const { lines, recordedDays, shapes } = recorded;
  const known = new Set(recordedDays);
  const asked = Array.from({ length: days }, (_, i) => daysBefore(today, i + 1));
  const period = { days, recordedDays: asked.filter((day) => known.has(day)).length };
  const pathsOf = pathsHit(base);
  const byRoute = groupedBy(lines, ({ route }) => route);
  const shapesOf = shapes && recordedShapes(base, shapes, lines);
  const rest = restOf(lines, shapes ?? []);
  const restAt = (paths: readonly string[]): number =>
    paths.reduce((sum, path) => sum + Math.max(0, rest.get(path) ?? 0), 0);
  const used = changes.map((change) => {
    if (change.severity !== "breaking") return change;
    const paths = pathsOf(change.endpoint);
    const usage = usageOf(change, keysIn(paths.flatMap((path) => byRoute.get(path) ?? [])), period);
    if (shapesOf === undefined) return { ...change, usage };
    const own = paths.flatMap((path) => shapesOf.get(path) ?? []);
    return { ...change, usage: usageByShapes(change, usage, own, restAt(paths)) };
  });
  if (shapesOf === undefined) return { changes: used };
  const judged = judgeShapes(changes, shapesOf, pathsOf);
  return { changes: used, shapes: { ...period, shapes: judged, rest: restAt([...rest.keys()]) } };
}

/** By route: of the requests that succeeded those without a shape. */
function restOf(lines: readonly RouteUsage[], shapes: readonly ShapeUsage[]): ReadonlyMap<string, number> {
  const rest = new Map<string, number>();
  for (const { route, succeeded } of lines) rest.set(route, (rest.get(route) ?? 0) + (succeeded ?? 0));
  for (const { route, requests } of shapes) rest.set(route, (rest.get(route) ?? 0) - requests);
  return rest;
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
  shapes: readonly RecordedShape[],
  rest: number,
): ChangeUsage {
  const hit = shapes
    .filter(({ usage }) => hitsOf(change, usage) > 0)
    .sort((a, b) => b.requests - a.requests || byText(a.shape, b.shape));
  const isComplete = rest === 0 && counted.recordedDays === counted.days;
  return {
    ...counted,
    state: hit.length > 0 ? "used" : isComplete ? "unused" : "unknown",
    keys: distinctNames(hit.flatMap(({ keys }) => keys)),
    organizations: distinctNames(hit.flatMap(({ organizations }) => organizations)),
    requests: hit.reduce((sum, { requests }) => sum + requests, 0),
    shapes: hit.map(({ route, shape, requests }) => ({ route, shape, requests })),
    rest,
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
