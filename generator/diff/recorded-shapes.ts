import { type Aggregate, groupedBy, servedPaths } from "@routewright/runtime/model";
import type { RouteUsage, ShapeUsage } from "@routewright/runtime/server";
import type { Catalogue } from "../catalogue/catalogue.js";
import { byText } from "../manifest/strings.js";
import type { Change } from "./change.js";
import { hitsOf, type KeyUsage, SHAPE_OUTCOMES, type ShapeOutcome, outcomeOf } from "./hits.js";

/** A shape of requests to a route, who sends it, and its names as usage counts those of requests. */
export interface RecordedShape extends ShapeUsage {
  readonly organizations: readonly string[];
  readonly usage: KeyUsage;
}

/** The shapes that servers kept, by route. */
export function recordedShapes(
  { entries }: Catalogue,
  shapes: readonly ShapeUsage[],
  lines: readonly RouteUsage[],
): ReadonlyMap<string, readonly RecordedShape[]> {
  const orgs = new Map(lines.flatMap(({ key, org }) => (org === "" ? [] : [[key, org] as const])));
  const aggregates = new Map(
    entries.flatMap((entry) => servedPaths(entry).map((path) => [path, entry.aggregate] as const)),
  );
  const parsed = shapes.map((one) => ({
    ...one,
    organizations: distinctNames(one.keys.map((key) => orgs.get(key) ?? "")),
    usage: usageOfShape(one.shape, one.requests, aggregates.get(one.route)),
  }));
  return groupedBy(parsed, ({ route }) => route);
}

/** Names in order, each once, without an empty one. */
export function distinctNames(names: readonly string[]): readonly string[] {
  return [...new Set(names)].filter((name) => name !== "").sort();
}

/** Who groups and names no measure asks for all. */
function usageOfShape(shape: string, requests: number, aggregate: Aggregate | undefined): KeyUsage {
  const [method = "", format = "", tier = "", fields = ""] = shape.split(" ");
  const parts = fields === "" ? [] : fields.split("&").map((part) => part.split("=").map(decoded));
  const names = parts.flatMap(([name = "", value]) =>
    value === undefined ? [name] : [name, ...value.split(",").map((one) => `${name}=${one}`)],
  );
  const isGrouped = aggregate !== undefined && asksGroups(aggregate, names);
  const measures = isGrouped && !names.includes(aggregate.of) ? aggregate.measures : [];
  const all = [...names, ...measures.map(({ name }) => `${String(aggregate?.of)}=${name}`)];
  return {
    org: "",
    requests,
    byParameter: new Map(all.map((name) => [name, requests])),
    form: { method, format, tier, isGrouped },
  };
}

/** A usage file may have been edited: what is no text of a server stays as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function asksGroups({ of, rows }: Aggregate, names: readonly string[]): boolean {
  return of === "metrics" || rows === false || names.includes("group_by") || names.includes(of);
}

/** A shape with what becomes of its requests, and by which changes. */
export interface JudgedShape extends Omit<RecordedShape, "usage"> {
  readonly outcome: ShapeOutcome;
  /** Kinds of the changes that decide it, with their subjects. */
  readonly changes: readonly string[];
}

/** Tries the shapes against both revisions: the worst of what the changes of its endpoint make of it. */
export function judgeShapes(
  changes: readonly Change[],
  byRoute: ReadonlyMap<string, readonly RecordedShape[]>,
  pathsOf: (path: string) => readonly string[],
): readonly JudgedShape[] {
  const atRoute = groupedBy(
    changes.flatMap((change) => pathsOf(change.endpoint).map((route) => ({ route, change }))),
    ({ route }) => route,
  );
  return [...byRoute]
    .flatMap(([route, shapes]) =>
      shapes.map(({ usage, ...shape }) => {
        const hitting = (atRoute.get(route) ?? [])
          .map(({ change }) => change)
          .filter((change) => outcomeOf(change.kind) !== "unaffected" && hitsOf(change, usage) > 0);
        const outcome = SHAPE_OUTCOMES.find((one) => hitting.some(({ kind }) => outcomeOf(kind) === one));
        return {
          ...shape,
          outcome: outcome ?? "unaffected",
          changes: hitting.filter(({ kind }) => outcomeOf(kind) === outcome).map(nameOf),
        };
      }),
    )
    .sort(
      (a, b) =>
        SHAPE_OUTCOMES.indexOf(a.outcome) - SHAPE_OUTCOMES.indexOf(b.outcome) ||
        b.requests - a.requests ||
        byText(a.route, b.route) ||
        byText(a.shape, b.shape),
    );
}

function nameOf({ kind, subject }: Change): string {
  return subject === null ? kind : `${kind} ${subject}`;
}
