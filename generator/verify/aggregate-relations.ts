import type { AggregateRelation } from "@routewright/runtime/model";
import type { CatalogueEntry } from "../catalogue/catalogue.js";

/** Relations of an aggregate as entries of their own, with the columns that its values read. */
export function relationsOf(entry: CatalogueEntry): readonly CatalogueEntry[] {
  const { aggregate } = entry;
  if (aggregate === undefined) return [entry];
  const parts = aggregate.relations.map((relation) => partOf(entry, relation));
  // The rows of a model are of its one relation, those of metrics are not served.
  return aggregate.of === "metrics" ? parts : [entry, ...parts.filter(({ columns }) => columns.length > 0)];
}

function partOf(entry: CatalogueEntry, { relation, values }: AggregateRelation): CatalogueEntry {
  const known = new Set(entry.columns.map(({ name }) => name));
  const names = values.flatMap((value) => ("column" in value ? [value.column] : []));
  const columns = [...new Set(names)]
    .filter((name) => !known.has(name))
    .map((name) => ({ name, type: null }));
  const { path, model, file, uniqueId, tier } = entry;
  return { ...NOTHING, path, model, file, uniqueId, tier, relation, columns };
}

/** An entry without anything that a relation would have to have. */
const NOTHING = {
  category: "",
  resource: "",
  granularity: null,
  window: null,
  hasTierTag: true,
  private: false,
  description: "",
  methods: ["GET"],
  legacy: false,
  parameters: [],
  allowUnfiltered: true,
  requireAnyOf: [],
  pagination: null,
  sort: [],
  sortableFields: [],
  deprecationDate: null,
  successor: null,
} as const;
