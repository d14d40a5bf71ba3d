import { type Aggregate, type AggregateMeasure, leavesOf, type MetricTree } from "@routewright/runtime/model";
import { type Catalogue, type CatalogueEntry, type PrivateMarks, WHOLE } from "../catalogue/catalogue.js";
import { aggregatedText, semanticId } from "../catalogue/private-marks.js";
import { namesPrivate } from "../catalogue/metrics/semantic-index.js";

/** What of an endpoint shows data that the base marks as private and the head does not: by name, and where the mark was. */
export interface LostMarks {
  readonly parts: ReadonlyMap<string, string>;
  /** Columns that rows may lack. */
  readonly columns: ReadonlySet<string>;
  /** The node whose mark covered the whole endpoint. */
  readonly whole?: string;
}

const NONE: LostMarks = { parts: new Map(), columns: new Set() };

/** Marks of private data that a revision has lost. What was private in the base is judged as private in the head. */
export class MarkComparison {
  readonly #base: Catalogue;
  readonly #head: Catalogue;
  /** Whether the base marks anything. */
  readonly hasAny: boolean;

  constructor(base: Catalogue, head: Catalogue) {
    this.#base = base;
    this.#head = head;
    this.hasAny = base.marks !== undefined || base.entries.some(showsMarks);
  }

  /** `before`: the endpoint that the base has at the path, or of the model. */
  lostOf(entry: CatalogueEntry, before: CatalogueEntry | null): LostMarks {
    if (!this.hasAny) return NONE;
    const names = this.#lostNames(entry, before);
    const { aggregate, parameters, filters = [], columns } = entry;
    const marked = new Set(ownMarks(entry));
    const of = (name: string): string | undefined =>
      names.get(name.toLowerCase()) ?? (marked.has(name.toLowerCase()) ? undefined : names.get(WHOLE));
    const read = [...columns, ...(columns.length === 0 ? (before?.columns ?? []) : [])].map(
      ({ name }) => name,
    );
    const asked = [...parameters, ...filters].map(({ column }) => column);
    const shown = [...read, ...asked].flatMap((name) => entryOf(name, of(name)));
    const ofAggregate = aggregate === undefined ? [] : this.#partsOf(aggregate, before, of);
    const whole = names.get(WHOLE);
    return {
      parts: new Map([...shown, ...ofAggregate]),
      columns: new Set(shown.map(([name]) => name)),
      ...(whole !== undefined && { whole }),
    };
  }

  /** Names in lower case that the base marks on the model or above it, and the head nowhere there. */
  #lostNames(entry: CatalogueEntry, before: CatalogueEntry | null): ReadonlyMap<string, string> {
    if (entry.aggregate?.of === "metrics") return new Map();
    const { uniqueId } = entry;
    const own = new Set([uniqueId, before?.uniqueId ?? uniqueId]);
    const above = new Set([...own, ...ancestorsIn(this.#head, own), ...ancestorsIn(this.#base, own)]);
    const was = [...above].flatMap((id) => marksOf(this.#base, id, own.has(id)));
    // The marks of another relation are those of its nodes.
    const isSame = before?.relation.every((name, i) => name === entry.relation[i]) === true;
    const ofEntry = isSame ? ownMarks(before).map((name) => [name, before.uniqueId] as const) : [];
    const still = [...above].flatMap((id) => marksOf(this.#head, id, own.has(id)));
    const kept = new Set([...still.map(([name]) => name), ...ownMarks(entry)]);
    const isLost = ([name, id]: readonly [string, string]): boolean =>
      !kept.has(WHOLE) && (!kept.has(name) || (id === uniqueId && !this.#marksItself(uniqueId, name)));
    const moved = new Set(ownMarks(entry));
    return new Map([...ofEntry, ...was].filter((each) => isLost(each) && !moved.has(each[0])));
  }

  /** Whether the head marks the column on the model itself, where the base does. */
  #marksItself(id: string, name: string): boolean {
    const names = (of: Catalogue) => (of.marks?.get(id) ?? []).map((each) => each.toLowerCase());
    return !names(this.#base).includes(name) || names(this.#head).includes(name);
  }

  #partsOf(
    aggregate: Aggregate,
    before: CatalogueEntry | null,
    ofColumn: (name: string) => string | undefined,
  ): readonly (readonly [string, string])[] {
    const isOfModel = aggregate.of === "measures";
    const isLost = (relation: string, value: string): string | undefined =>
      isOfModel ? ofColumn(value) : this.#lostValue(aggregate, relation, value);
    const groups = aggregate.dimensions.flatMap(({ name, places }) =>
      places.flatMap(({ fact, value, join }) => {
        const to = aggregate.facts.find((each) => each.relation === fact)?.joins[join ?? -1]?.to ?? fact;
        return entryOf(name, isLost(to, value));
      }),
    );
    const asked = new Set(aggregate.measures.flatMap((each) => each.groups.map(({ name }) => name)));
    const measures = aggregate.measures.flatMap((measure) =>
      entryOf(measure.name, this.#lostMeasure(aggregate, measure, isLost)),
    );
    const marked = before === null ? [] : this.#lostFlags(before, aggregate);
    return [...groups.filter(([name]) => asked.has(name)), ...measures, ...marked];
  }

  /** A group or metric that is marked in the base and not in the head. */
  #lostFlags(before: CatalogueEntry, head: Aggregate): readonly (readonly [string, string])[] {
    const still = new Set(head.columns.filter(isMarked).map(({ name }) => name));
    const served = new Set(head.columns.map(({ name }) => name));
    return (before.aggregate?.columns ?? [])
      .filter((column) => isMarked(column) && served.has(column.name) && !still.has(column.name))
      .filter(({ name }) => !name.includes("__") || !still.has(name.replace(/__[a-z]+$/, "")))
      .map(({ name }) => [name, before.uniqueId] as const);
  }

  #lostMeasure(
    aggregate: Aggregate,
    { name, metric }: AggregateMeasure,
    isLost: (relation: string, value: string) => string | undefined,
  ): string | undefined {
    const isStill = aggregate.columns.some((column) => column.name === name && isMarked(column));
    if (isStill) return undefined;
    const metrics = aggregate.of === "metrics" ? [name, ...takenIn(metric)] : [];
    const ofMetric = metrics.map((each) => this.#lostMetric(each)).find((id) => id !== undefined);
    const ofValues = leavesOf(metric).map(({ fact, value, aggregation }) => {
      if (value === undefined) return undefined;
      const shown = aggregation.startsWith("count") ? undefined : isLost(fact, value);
      return shown ?? this.#lostName(fact, aggregatedText(aggregation, textOf(aggregate, fact, value)));
    });
    return ofMetric ?? ofValues.find((id) => id !== undefined);
  }

  #lostMetric(name: string): string | undefined {
    const ids = (marks: PrivateMarks = new Map()): readonly string[] =>
      [...marks.keys()].filter((id) => id.startsWith("metric.") && id.endsWith(`.${name}`));
    const [before] = ids(this.#base.marks);
    return ids(this.#head.marks).length > 0 ? undefined : before;
  }

  #lostValue(aggregate: Aggregate, relation: string, value: string): string | undefined {
    const id = semanticId(relation);
    const [was, is] = [this.#base, this.#head].map(({ marks }) => new Set(marks?.get(id))) as [
      Set<string>,
      Set<string>,
    ];
    if (is.has(WHOLE)) return undefined;
    const lost = new Set([...was].filter((name) => !is.has(name)));
    return lost.has(WHOLE) || namesPrivate(textOf(aggregate, relation, value), lost) ? id : undefined;
  }

  #lostName(relation: string, name: string): string | undefined {
    const id = semanticId(relation);
    const isLost = this.#base.marks?.get(id)?.includes(name) && !this.#head.marks?.get(id)?.includes(name);
    return isLost === true ? id : undefined;
  }
}

/** The endpoint as if it had the marks. */
export function withMarks(entry: CatalogueEntry, { parts }: LostMarks): CatalogueEntry {
  if (parts.size === 0) return entry;
  const mark = <Of extends { readonly name: string }>(column: Of): Of =>
    parts.has(column.name) ? { ...column, private: true } : column;
  const { aggregate, columns } = entry;
  return {
    ...entry,
    columns: columns.map(mark),
    ...(aggregate && { aggregate: { ...aggregate, columns: aggregate.columns.map(mark) } }),
  };
}

function entryOf(name: string, id: string | undefined): readonly (readonly [string, string])[] {
  return id === undefined ? [] : [[name, id]];
}

/** Names of the metrics that a formula takes in, as far as it calls them by their names. */
function takenIn(metric: MetricTree): readonly string[] {
  return metric.kind === "leaf"
    ? []
    : metric.inputs.flatMap((input) => [input.alias, ...takenIn(input.metric)]);
}

function textOf({ relations }: Aggregate, relation: string, name: string): string {
  const { values = [] } = relations.find((each) => each.name === relation) ?? {};
  const value = values.find((each) => each.name === name);
  return value === undefined ? name : "column" in value ? value.column : value.sql;
}

/** Marks of a node in lower case; of one above, a mark of the whole node is one of its columns. */
function marksOf({ marks }: Catalogue, id: string, isOwn: boolean): readonly (readonly [string, string])[] {
  const names = marks?.get(id) ?? [];
  return names.filter((name) => isOwn || name !== WHOLE).map((name) => [name.toLowerCase(), id] as const);
}

function ownMarks(entry: CatalogueEntry): readonly string[] {
  const columns = entry.columns.filter(isMarked).map(({ name }) => name.toLowerCase());
  return [...(entry.private ? [WHOLE] : []), ...columns];
}

function showsMarks(entry: CatalogueEntry): boolean {
  return entry.private || entry.columns.some(isMarked) || entry.aggregate?.columns.some(isMarked) === true;
}

function isMarked(column: object): boolean {
  return "private" in column && column.private === true;
}

/** The nodes above, without themselves. */
function ancestorsIn({ lineage }: Catalogue, ids: ReadonlySet<string>): readonly string[] {
  const reached = new Set(ids);
  // Iterating a set visits the items added meanwhile.
  for (const id of reached) for (const parent of lineage.nodes.get(id)?.parents ?? []) reached.add(parent);
  return [...reached].filter((id) => !ids.has(id));
}
