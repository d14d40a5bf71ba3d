import { type BuildRecords, type BuildsAtLoad, qualityOf } from "@routewright/runtime/model";
import type { Lineage } from "../catalogue/catalogue.js";
import type { CopiedRelation } from "./copied-relation.js";

/** The builds that an export of a relation holds; null while one of them is not known, or has failed. */
export function buildsAtLoad(
  copied: CopiedRelation,
  lineage: Lineage,
  records: BuildRecords,
): BuildsAtLoad | null {
  const times = nodesIn(copied, lineage).held.map((id) => [id, records.completedAt(id)] as const);
  if (times.length === 0) return null;
  const known = times.flatMap(([id, time]) =>
    time === null ? [] : [[id, new Date(time).toISOString()] as const],
  );
  return known.length < times.length ? null : Object.fromEntries(known);
}

/** The relations whose exports passed the tests of their models, and why others keep their rows. */
export function passedAmong(
  relations: readonly CopiedRelation[],
  lineage: Lineage,
  records: BuildRecords,
): { readonly loaded: readonly CopiedRelation[]; readonly kept: readonly string[] } {
  const problems = relations.map((copied) => [copied, testProblem(copied, lineage, records)] as const);
  return {
    loaded: problems.flatMap(([copied, problem]) => (problem === null ? [copied] : [])),
    kept: problems.flatMap(([{ relation }, problem]) =>
      problem === null ? [] : [`warning: ${relation.join(".")} keeps its rows: ${problem}.`],
    ),
  };
}

/** Why an export's rows have not passed the tests of their model; null where they have, or there are none. */
function testProblem(copied: CopiedRelation, lineage: Lineage, records: BuildRecords): string | null {
  const { own, held } = nodesIn(copied, lineage);
  const tests = own.flatMap((id) => lineage.nodes.get(id)?.tests ?? []);
  const { state, failed } = qualityOf(records, "", tests, held) ?? { state: "passed", failed: 0 };
  if (state === "failed") return `${String(failed)} of its dbt tests failed`;
  if (state === "passed") return null;
  if (held.length === 0)
    return "it reads what dbt does not build, so that no test is known to be of its rows";
  return held.every((id) => records.builds.has(id))
    ? "not all of its dbt tests have run since the build"
    : "its build is not in run_results.json: give the one that `dbt build` writes";
}

/** The nodes of a relation itself, and those whose builds an export of it holds. */
function nodesIn(
  { relation, paths }: CopiedRelation,
  { nodes, upstreamNodes }: Lineage,
): { readonly own: readonly string[]; readonly held: readonly string[] } {
  // Of metrics each relation has its own node among those of the endpoint; of a view the nodes below it change the rows too.
  const [ofEndpoint = []] = paths
    .map((path) => upstreamNodes.get(path) ?? [])
    .toSorted((a, b) => a.length - b.length);
  const own = ofEndpoint.filter((id) => nodes.get(id)?.relation?.join("\0") === relation.join("\0"));
  return { own, held: paths.length > 1 && own.length === 1 ? own : ofEndpoint };
}
