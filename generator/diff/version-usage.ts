import { groupedBy, servedPaths } from "@routewright/runtime/model";
import type { RouteUsage } from "@routewright/runtime/server";
import type { CatalogueEntry } from "../catalogue/catalogue.js";
import { counted } from "../report/report.js";

/** The calls of one version of a model at one path. */
export interface VersionLine {
  readonly model: string;
  readonly version: string;
  /** `other`: an older one, or one that is not released. */
  readonly state: "latest" | "other";
  readonly path: string;
  /** Callers without a key count as one. */
  readonly keys: number;
  readonly requests: number;
  readonly [name: string]: string | number;
}

/** Who calls which version, in the order of the entries. `key`: only keys whose id begins so. */
export function versionLines(
  entries: readonly CatalogueEntry[],
  usage: readonly RouteUsage[],
  key = "",
): readonly VersionLine[] {
  const requests = usage.filter((line) => line.parameter === null && line.key.startsWith(key));
  const byRoute = groupedBy(requests, ({ route }) => route);
  return entries.flatMap((entry) => {
    const { model, version, successor } = entry;
    if (version === undefined) return [];
    return servedPaths(entry).map((path) => {
      const lines = byRoute.get(path) ?? [];
      return {
        model,
        version,
        state: successor === null ? ("latest" as const) : ("other" as const),
        path,
        keys: new Set(lines.map((line) => line.key)).size,
        requests: lines.reduce((sum, line) => sum + line.requests, 0),
      };
    });
  });
}

/** `12 callers still use version 1 of orders (/v1/shop/orders@1).` */
export function versionNotes(lines: readonly VersionLine[]): readonly string[] {
  return lines
    .filter(({ state, keys }) => state === "other" && keys > 0)
    .map(
      ({ model, version, path, keys }) =>
        `${counted(keys, "caller")} ${keys === 1 ? "uses" : "use"} version ${version} of ${model} (${path}).`,
    );
}
