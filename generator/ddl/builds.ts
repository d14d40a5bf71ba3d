import type { BuildRecords, BuildsAtLoad } from "@routewright/runtime/model";
import type { Lineage } from "../catalogue/catalogue.js";
import type { CopiedRelation } from "./copied-relation.js";

/** The builds that an export of a relation holds; null while one of them is not known, or has failed. */
export function buildsAtLoad(
  { relation, paths }: CopiedRelation,
  { nodes, upstreamNodes }: Lineage,
  records: BuildRecords,
): BuildsAtLoad | null {
  // Of metrics each relation has its own node among those of the endpoint; of a view the nodes below it change the rows too.
  const [ofEndpoint = []] = paths
    .map((path) => upstreamNodes.get(path) ?? [])
    .toSorted((a, b) => a.length - b.length);
  const own = ofEndpoint.filter((id) => nodes.get(id)?.relation?.join("\0") === relation.join("\0"));
  const found = paths.length > 1 && own.length === 1 ? own : ofEndpoint;
  const times = found.map((id) => [id, records.completedAt(id)] as const);
  if (times.length === 0) return null;
  const known = times.flatMap(([id, time]) =>
    time === null ? [] : [[id, new Date(time).toISOString()] as const],
  );
  return known.length < times.length ? null : Object.fromEntries(known);
}
