import type { ActiveRelease, LoadedRelease } from "../../core/handler/loaded-release.js";
import type { BuildRecords } from "../../core/warehouse/data-versions.js";
import type { RollUpVersion } from "../../core/warehouse/warehouse.js";

/** How the gateway knows which roll-ups may be read; without `rollUps` none. */
export function rollUpVersions(
  { rollUps }: { readonly rollUps: boolean },
  builds: BuildRecords,
  active: ActiveRelease,
): { readonly rollUpVersion?: RollUpVersion } {
  return rollUps ? { rollUpVersion: (node) => versionOf(builds, active.current, node) } : {};
}

/** Null where a node has failed or was not reported, and where the relations are copies, which have loads of their own. */
function versionOf(
  builds: BuildRecords,
  { rollUpNodes, copiedFrom }: LoadedRelease,
  node: string,
): string | null {
  const of = rollUpNodes.get(node);
  const { startedAt, completedAt, failed, reused } = builds.builds.get(node) ?? {};
  if (of === undefined || startedAt === undefined || failed || reused || copiedFrom !== null) return null;
  const times = of.map((each) => builds.completedAt(each));
  const isLast = times.length > 0 && times.every((time) => time !== null && time < startedAt);
  return isLast ? [startedAt, completedAt, ...times].join(" ") : null;
}
