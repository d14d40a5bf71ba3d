import { dueOf, type Freshness } from "../model/freshness.js";
import type { BuildRecords, FreshnessCheck } from "./data-versions.js";

/** Until when rows are as fresh as promised, in milliseconds since 1970. */
export interface Due {
  /** Infinity: nothing but a warning is promised. */
  readonly due: number;
  /** From when on they are nearly too old; Infinity: from no time on. */
  readonly warnAt: number;
}

/** The nodes that decide about an endpoint's promise. */
interface PromisedNodes {
  readonly path: string;
  /** Those that hold its rows; of dbt's bounds the model itself. */
  readonly rowNodes: readonly string[];
  /** Those above, whose freshness dbt checks too. */
  readonly checkedNodes: readonly string[];
}

/** Until when an endpoint's rows, and those of the nodes above that dbt checks, are fresh; null where nobody knows. */
export function dueIn(
  records: BuildRecords,
  freshness: Freshness,
  { path, rowNodes, checkedNodes }: PromisedNodes,
): Due | null {
  const { warnAfter, errorAfter } = freshness;
  const isOfLoads = warnAfter !== undefined || errorAfter !== undefined;
  const since = isOfLoads ? loadOf(records, path, rowNodes) : records.oldestRows(path, rowNodes);
  if (since === null) return null;
  const own = isOfLoads
    ? boundsOf(since, warnAfter ?? null, errorAfter ?? null)
    : { due: Math.min(dueOf(freshness, since), LAST_TIME), warnAt: Infinity };
  const checks = checkedNodes.map((node) => records.checks.get(node));
  if (checks.some((check) => check?.loadedAt === null)) return null;
  const above = checks.map(dueOfCheck);
  return {
    due: Math.min(own.due, ...above.map(({ due }) => due)),
    warnAt: Math.min(own.warnAt, ...above.map(({ warnAt }) => warnAt)),
  };
}

/** Those of the nodes whose rows are too old by dbt's bounds. */
export function lateAmong(records: BuildRecords, nodes: readonly string[], now: number): readonly string[] {
  return nodes.filter((node) => dueOfCheck(records.checks.get(node)).due < now);
}

/** The latest load of rows that are served: those of a copy are no newer than the builds that it holds, and known only of the last ones. */
function loadOf(records: BuildRecords, path: string, nodes: readonly string[]): number | null {
  const loads = nodes.map((node) => records.checks.get(node)?.loadedAt ?? null);
  const known = loads.filter((load) => load !== null);
  if (known.length === 0 || known.length < loads.length) return null;
  const oldest = Math.min(...known);
  if (records.loadsAt(path) === undefined) return oldest;
  const builtAt = records.holdsLastBuilds(path) ? records.oldestRows(path, nodes) : null;
  return builtAt === null ? null : Math.min(builtAt, oldest);
}

/** A node that dbt has never checked makes nothing late. */
export function dueOfCheck(check: FreshnessCheck | undefined): Due {
  if (check === undefined || check.loadedAt === null) return { due: Infinity, warnAt: Infinity };
  return boundsOf(check.loadedAt, check.warnAfter, check.errorAfter);
}

/** The last one that RFC 3339 can write. dbt takes bounds of a million years, and loads of the year 9999. */
const LAST_TIME = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

function boundsOf(since: number, warnAfter: number | null, errorAfter: number | null): Due {
  const at = (seconds: number | null): number =>
    seconds === null ? Infinity : Math.min(since + seconds * 1000, LAST_TIME);
  return { due: at(errorAfter), warnAt: at(warnAfter) };
}
