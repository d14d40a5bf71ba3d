import { capitalized, grainsOf, inWords } from "../../core/model/endpoint-title.js";
import type { CatalogueEndpoint } from "../catalogue-body.js";
import { isIdentifierText, namesOf, rolesOf } from "./chart-columns.js";

/** Names that a card has room for. */
const [MAX_SUBJECTS, MAX_GROUPS] = [4, 3];

/** What the endpoints of a category answer: `Volume, netflow, inflow … by bridge or token, per day or week`. */
export function answersOf(endpoints: readonly CatalogueEndpoint[]): string {
  const subjects = mostFrequent(endpoints.flatMap(subjectsOf));
  const groups = mostFrequent(endpoints.flatMap(groupsOf)).filter((name) => !subjects.includes(name));
  const grains = grainsOf(endpoints.map(({ granularity }) => granularity));
  const parts = [
    subjects.slice(0, MAX_SUBJECTS).join(", ") + (subjects.length > MAX_SUBJECTS ? " …" : ""),
    ...(groups.length === 0 ? [] : [` by ${oneOf(groups.slice(0, MAX_GROUPS))}`]),
    ...(grains.length === 0 ? [] : [`${groups.length === 0 ? " " : ", "}per ${oneOf(grains)}`]),
  ];
  return capitalized(parts.join(""));
}

/** What is counted or listed: `volume` of `volume_per_bridge`, the metrics of an endpoint of metrics. */
function subjectsOf({ resource, category, aggregate }: CatalogueEndpoint): readonly string[] {
  if (aggregate?.of === "metrics") return aggregate.measures.map(({ name, label }) => label ?? inWords(name));
  const [subject = ""] = resource.split(/_(?:per|by)_/);
  const [first = "", ...rest] = subject.split("_");
  // The category's name says it already.
  const isSaid = rest.length > 0 && singular(first) === singular(category);
  return [inWords(isSaid ? rest.join("_") : subject)];
}

const singular = (word: string): string => word.toLowerCase().replace(/s$/, "");

/** Columns that tell rows apart, and groups of sums. */
function groupsOf({ columns, aggregate }: CatalogueEndpoint): readonly string[] {
  const own = namesOf(rolesOf({ resource: "", columns, rows: [] }), "category");
  const plain = own.filter((name) => !isIdentifierText(name) && !/^(is|has|was|can)_/i.test(name));
  const grouped = (aggregate?.groups ?? []).filter(({ grains }) => grains === undefined);
  const names = new Set([...plain, ...grouped.map(({ name }) => name)]);
  return [...names].map(inWords);
}

function mostFrequent(names: readonly string[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].sort(([, one], [, other]) => other - one).map(([name]) => name);
}

const oneOf = (names: readonly string[]): string =>
  names.length === 1 ? (names[0] ?? "") : `${names.slice(0, -1).join(", ")} or ${names.at(-1) ?? ""}`;
