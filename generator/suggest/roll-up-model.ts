import { posix } from "node:path";
import { leavesOf, type Relation } from "@routewright/runtime/model";
import { stringify } from "yaml";
import type { Model } from "../manifest/model.js";
import { type GroupPart, isSameName, type TotalPart } from "./roll-up-parts.js";
import { type FoundRollUp, requestsOf } from "./roll-up-queries.js";
import { about, type RollUpTrial, type Suggestion } from "./suggestion.js";

/** What PostgreSQL keeps of a name is longer. */
const LONGEST_NAME = 50;

/** The roll-up as a model of the project with its YAML. `names`: of all models, to which its own is added. */
export function rollUpSuggestion(found: FoundRollUp, node: Model, names: Set<string>): Suggestion {
  const { relation, parts, groups, answered, counts } = found;
  const name = modelName(parts.of.name, groups, names);
  names.add(name);
  const [first] = answered.toSorted((a, b) => b.requests - a.requests);
  const folder = node.file === "" ? "models" : posix.dirname(node.file);
  const metrics = new Set(answered.flatMap(({ grouping }) => grouping.measures.map((each) => each.name)));
  const used = usedTotals(found);
  return {
    kind: "roll-up",
    model: node.uniqueId,
    path: first?.entry.path ?? "",
    subject: name,
    reason: `requests for ${[...metrics].sort().join(", ")} group the rows of ${node.name} each time`,
    figures: [
      `${about(counts.rows)} rows are read, of the roll-up ${about(counts.together)} (estimate)`,
      ...answersOf(found),
    ],
    edits: [],
    files: [
      { file: posix.join(folder, `${name}.sql`), text: sqlOf(node, groups, used) },
      { file: posix.join(folder, `${name}.yml`), text: yamlOf(name, found, used) },
    ],
    rollUp: trialOf(relation, groups, used),
  };
}

/** Totals that the queries which it answers read. */
function usedTotals({ parts, answered }: FoundRollUp): readonly TotalPart[] {
  const leaves = answered.flatMap(({ entry: { aggregate }, grouping }) => {
    const values = aggregate?.relations.find(({ name }) => name === parts.of.name)?.values ?? [];
    return grouping.measures
      .flatMap(({ metric }) => leavesOf(metric))
      .filter(({ fact }) => fact === parts.of.name)
      .map(({ value, aggregation }) => ({ aggregation, of: values.find(({ name }) => name === value) }));
  });
  const isUsed = ({ aggregation, expr }: TotalPart): boolean =>
    leaves.some(
      ({ of, ...leaf }) =>
        leaf.aggregation === aggregation &&
        of !== undefined &&
        ("column" in of ? isSameName(of.column, expr) : of.sql === expr),
    );
  const used = parts.totals.filter(isUsed);
  const isFirst = (total: TotalPart): boolean =>
    used.find(({ expr, aggregation }) => expr === total.expr && aggregation === total.aggregation) === total;
  return used.filter(isFirst);
}

function answersOf({ answered, all, isUsed }: FoundRollUp): readonly string[] {
  if (!isUsed) return ["without usage: by the groups that metrics have"];
  return [
    `it answers ${String(requestsOf(answered))} of ${String(requestsOf(all))} requests whose shapes were kept`,
  ];
}

function modelName(of: string, groups: readonly GroupPart[], names: ReadonlySet<string>): string {
  const words = groups.map(({ name, grain }) => grain ?? name).join("_");
  const long = `${of}_by_${words}`;
  const short = long.length > LONGEST_NAME ? `${of.slice(0, LONGEST_NAME)}_rolled_up` : long;
  let name = short;
  for (let i = 2; names.has(name); i++) name = `${short}_${String(i)}`;
  return name;
}

function sqlOf(node: Model, groups: readonly GroupPart[], totals: readonly TotalPart[]): string {
  const version = node.version === null ? "" : `, v=${JSON.stringify(node.version)}`;
  return `{{ config(materialized='table') }}

select
${columnsOf(groups, totals)}
from {{ ref('${node.name}'${version}) }}
group by ${positions(groups)}
`;
}

const columnsOf = (groups: readonly GroupPart[], totals: readonly TotalPart[]): string =>
  [...groups, ...totals]
    .map(({ sql, column }) => (sql === column ? `  ${sql}` : `  ${sql} as ${column}`))
    .join(",\n");

const positions = (groups: readonly GroupPart[]): string => groups.map((_, i) => String(i + 1)).join(", ");

function yamlOf(name: string, { parts: { of }, groups }: FoundRollUp, totals: readonly TotalPart[]): string {
  const group_by = Object.fromEntries(
    groups.map(({ name, column, grain }) => [name, grain === undefined ? column : { column, grain }]),
  );
  const measures = Object.fromEntries(totals.map(({ name, column }) => [name, column]));
  const rollup_of = { semantic_model: of.name, group_by, measures };
  const description = `Totals of ${of.name}, from which metrics are answered.`;
  return stringify(
    { models: [{ name, description, config: { meta: { routewright: { rollup_of } } } }] },
    { version: "1.1", lineWidth: 0 },
  );
}

/** The first total by the last group, from the rows and from the roll-up. */
function trialOf(
  relation: Relation,
  groups: readonly GroupPart[],
  totals: readonly TotalPart[],
): RollUpTrial | undefined {
  const [group, total] = [groups.at(-1), totals[0]];
  if (group === undefined || total === undefined) return undefined;
  const again =
    total.aggregation === "count" || total.aggregation === "sum_boolean" ? "sum" : total.aggregation;
  return {
    relation,
    select: `SELECT ${columnsOf(groups, totals)}`,
    groupBy: positions(groups),
    asked: `SELECT ${group.sql}, ${total.sql}`,
    askedAgain: `SELECT ${group.column}, ${again}(${total.column})`,
  };
}
