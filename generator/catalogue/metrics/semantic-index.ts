import {
  compareGrains,
  DATE_PARTS,
  type DatePart,
  type Grain,
  isGrain,
  isTier,
  type Tier,
  TIERS,
} from "@routewright/runtime/model";
import type { ModelColumn } from "../../manifest/model-columns.js";
import { isObject, textOr } from "../../manifest/json.js";
import type { Manifest } from "../../manifest/manifest.js";
import { knownColumns, type Model } from "../../manifest/model.js";
import type {
  SemanticMeasure,
  SemanticMetric,
  SemanticModel,
  SemanticSpine,
} from "../../manifest/semantic-layer.js";
import { type PrivateMarks, WHOLE } from "../catalogue.js";
import { inheritedPrivacyOf } from "../inherited-privacy.js";
import { isPublished } from "../../manifest/publishing.js";
import { dataTypeOf } from "../types/read-type.js";
import { misspeltKeys, unreadSettings } from "./metric-settings.js";
import { joinsOf, type SemanticJoin } from "./semantic-joins.js";

/** What a dimension is of a semantic model: its own, or of one that is joined. */
export interface ReachableDimension {
  readonly name: string;
  /** Finest grain of a time. */
  readonly grain?: Grain;
  readonly expr: string;
  /** The semantic model whose row has it. */
  readonly model: SemanticModel;
  /** How that model is joined; null for an own dimension. */
  readonly join: SemanticJoin | null;
  readonly isEntity: boolean;
  readonly isPrivate: boolean;
  readonly description: string;
  /** What it is made of, where it is a part of a date or a period of a time spine. */
  readonly derived?: DerivedDimension;
}

export type DerivedDimension = { readonly time: string } & (
  { readonly part: DatePart } | { readonly spine: SemanticSpine; readonly column: string }
);

const WITHOUT_NULL: ReadonlySet<string> = new Set(["array", "map", "tuple", "record"]);

/** The semantic layer with its look-ups. */
export class SemanticIndex {
  readonly metrics: ReadonlyMap<string, SemanticMetric>;
  readonly #models: ReadonlyMap<string, SemanticModel>;
  readonly #nodes: ReadonlyMap<string, Model>;
  readonly #reachable = new Map<string, ReadonlyMap<string, ReachableDimension>>();
  readonly #privateColumns = new Map<string, ReadonlySet<string>>();
  readonly #problems = new Map<string, string | null>();
  readonly manifest: Manifest;

  constructor(manifest: Manifest) {
    const { semantics, models } = manifest;
    this.manifest = manifest;
    this.metrics = new Map(semantics.metrics.map((metric) => [metric.name, metric]));
    this.#models = new Map(semantics.models.map((model) => [model.name, model]));
    this.#nodes = new Map(models.map((model) => [model.uniqueId, model]));
  }

  model(name: string): SemanticModel | undefined {
    return this.#models.get(name);
  }

  /** The dbt model below a semantic model or a time spine. */
  node({ model }: Pick<SemanticModel, "model">): Model | undefined {
    return this.#nodes.get(model);
  }

  columns(model: SemanticModel): readonly ModelColumn[] {
    const node = this.node(model);
    return node === undefined ? [] : knownColumns(node);
  }

  /** Whether a dimension that is joined is served: lists, maps and tuples of ClickHouse have no null for rows without it. */
  hasNull({ model, expr, join }: ReachableDimension): boolean {
    if (join === null || this.manifest.adapter !== "clickhouse") return true;
    const column = this.columns(model).find(({ name }) => name.toLowerCase() === expr.toLowerCase());
    return !WITHOUT_NULL.has(dataTypeOf(column?.type).kind);
  }

  /** A measure of the older spec, wherever it is. */
  measure(name: string): SemanticMeasure | undefined {
    for (const { measures } of this.#models.values()) {
      const found = measures.get(name);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** Tier of a model that is published: what reads it is at least as strict. */
  tierOf(of: Pick<SemanticModel, "model">, defaultTier: Tier): Tier | null {
    const node = this.node(of);
    if (node === undefined || !isPublished(node.tags)) return null;
    return node.tags.filter(isTier).toSorted((a, b) => TIERS.indexOf(b) - TIERS.indexOf(a))[0] ?? defaultTier;
  }

  /** Column of the caller's organization, where the model has one. */
  ownRowsOf(model: SemanticModel): string | null {
    const rows = this.node(model)?.routewright["rows"];
    return isObject(rows) ? textOr(rows["column"], "") || null : null;
  }

  /** Why nothing may be read of a semantic model: whose its rows are is not known. */
  problemOf(model: SemanticModel): string | null {
    const known = this.#problems.get(model.name);
    if (known !== undefined) return known;
    const problem = this.#foundProblem(model);
    this.#problems.set(model.name, problem);
    return problem;
  }

  #foundProblem(model: SemanticModel): string | null {
    const node = this.node(model);
    if (node === undefined)
      return `The manifest has no model ${model.model || "below the semantic model"}, whose rules ${model.name} would have.`;
    const [misspelt] = [
      ...unreadSettings(model.json, "semanticModel").problems.map((each) => [model.name, each] as const),
      ...misspeltKeys(this.manifest.graph.get(node.uniqueId)?.json ?? {}).map(
        (each) => [node.uniqueId, each] as const,
      ),
    ];
    if (misspelt !== undefined) {
      const [name, { path, message, hint }] = misspelt;
      return `${name} has a mistake at ${path}. ${message} ${hint}`;
    }
    const { rows } = node.routewright;
    if (rows === undefined) return null;
    const column = this.ownRowsOf(model);
    const known = knownColumns(node);
    const isKnown = known.length === 0 || known.some(({ name }) => name === column);
    return isObject(rows) && rows["equals"] === "org" && column !== null && isKnown
      ? null
      : `meta.routewright.rows of ${node.uniqueId} is invalid.`;
  }

  /** Whether an expression shows private data: the semantic model is private, or it names a private column. */
  isPrivate(model: SemanticModel, expr: string): boolean {
    if (model.isPrivate) return true;
    return namesPrivate(expr, this.#privateNames(model));
  }

  /** What is private of a semantic model, in lower case, read by a measure or not: marks of the nodes below it count. */
  privateNamesOf(model: SemanticModel, ofNodes: PrivateMarks): readonly string[] {
    const node = this.node(model);
    const { graph } = this.manifest;
    const reached = new Set(node === undefined ? [] : [node.uniqueId]);
    for (const id of reached) for (const parent of graph.get(id)?.parents ?? []) reached.add(parent);
    const marked = [...reached].flatMap((id) => ofNodes.get(id) ?? []);
    const inherited =
      node === undefined || marked.length === 0 ? [] : inheritedPrivacyOf(node, this.manifest, marked);
    return [...new Set([...inherited, ...this.#privateNames(model)])].filter((name) => name !== WHOLE);
  }

  /** Private columns of the dbt model, and what marked dimensions and entities of the semantic model are. */
  #privateNames(model: SemanticModel): ReadonlySet<string> {
    let names = this.#privateColumns.get(model.name);
    if (names === undefined) {
      const node = this.node(model);
      const ofNode = node === undefined ? [] : inheritedPrivacyOf(node, this.manifest, this.#namesIn(node));
      const marked = [...model.dimensions, ...model.entities].filter((part) => part.isPrivate);
      names = new Set([...ofNode, ...marked.flatMap(({ expr }) => shownBy(expr))]);
      this.#privateColumns.set(model.name, names);
    }
    return names;
  }

  /** Columns that the semantic layer reads of a model, declared or not. */
  #namesIn({ uniqueId }: Model): readonly string[] {
    const models = [...this.#models.values()].filter(({ model }) => model === uniqueId);
    const own = [...this.metrics.values()].flatMap(({ simple, cumulative }) =>
      [simple?.measure, cumulative?.of?.measure].filter((each) => typeof each === "object"),
    );
    const measures = [
      ...models.flatMap((model) => [...model.measures.values()]),
      ...own.filter((measure) => models.some(({ name }) => name === measure.model)),
    ];
    const parts = models.flatMap(({ dimensions, entities }) => [...dimensions, ...entities]);
    return [...new Set([...parts, ...measures].flatMap(({ expr }) => namesIn(expr)))];
  }

  /** All dimensions that rows of a semantic model can be grouped by, by name. */
  reachable(model: SemanticModel): ReadonlyMap<string, ReachableDimension> {
    const known = this.#reachable.get(model.name);
    if (known !== undefined) return known;
    const found = new Map<string, ReachableDimension>();
    for (const each of [...this.#own(model), ...this.#joined(model)])
      if (!found.has(each.name)) found.set(each.name, each);
    for (const each of [...found.values()].flatMap((time) => this.#derivedOf(time)))
      found.set(each.name, each);
    this.#reachable.set(model.name, found);
    return found;
  }

  /** Parts of the date of a time, and its periods in the time spines. */
  #derivedOf({ grain, ...time }: ReachableDimension): readonly ReachableDimension[] {
    if (grain === undefined) return [];
    const parts = DATE_PARTS.filter((part) => compareGrains(grain, partGrain(part)) <= 0).map((part) => ({
      ...time,
      name: `${time.name}__extract_${part}`,
      derived: { time: time.name, part },
    }));
    const { spines } = this.manifest.semantics;
    const customs = spines.flatMap((spine) =>
      spine.customs
        .filter(() => isGrain(spine.grain) && compareGrains(grain, spine.grain) <= 0)
        .map(({ name, column }) => ({
          ...time,
          name: `${time.name}__${name}`,
          derived: { time: time.name, spine, column },
        })),
    );
    return [...parts, ...customs];
  }

  #own(model: SemanticModel): readonly ReachableDimension[] {
    const prefix = model.primaryEntity === "" ? "" : `${model.primaryEntity}__`;
    const dimensions = prefix === "" ? [] : this.#dimensionsOf(model, prefix, null);
    const entities = model.entities.map(({ name, expr }) => this.#entity(model, name, expr, null));
    const prefixed = prefix === "" ? [] : entities.filter(({ name }) => name !== model.primaryEntity);
    return [...dimensions, ...entities, ...prefixed.map((each) => ({ ...each, name: prefix + each.name }))];
  }

  /** Those of other models that one entity leads to, or two in turn, if the other side declares it unique. */
  #joined(model: SemanticModel): readonly ReachableDimension[] {
    const models = [...this.#models.values()];
    return joinsOf(model, models).flatMap((join) => this.#through(join));
  }

  #through(join: SemanticJoin): readonly ReachableDimension[] {
    const { path, to } = join;
    const prefix = `${path.join("__")}__`;
    const entities = to.entities.filter(({ name }) => !path.includes(name));
    return [
      ...this.#dimensionsOf(to, prefix, join).filter(({ name }) => !path.includes(name.slice(prefix.length))),
      ...entities.map((each) => this.#entity(to, prefix + each.name, each.expr, join)),
    ];
  }

  #dimensionsOf(
    model: SemanticModel,
    prefix: string,
    join: SemanticJoin | null,
  ): readonly ReachableDimension[] {
    return model.dimensions.map(({ name, isTime, grain, expr, description }) => ({
      name: prefix + name,
      ...(isTime && { grain: grainOf(grain) }),
      expr,
      model,
      join,
      isEntity: false,
      isPrivate: this.isPrivate(model, expr),
      description,
    }));
  }

  #entity(model: SemanticModel, name: string, expr: string, join: SemanticJoin | null): ReachableDimension {
    return {
      name,
      expr,
      model,
      join,
      isEntity: true,
      isPrivate: this.isPrivate(model, expr),
      description: "",
    };
  }

  /** Whether a time spine has a row per period of this grain. */
  hasSpine(grain: Grain): boolean {
    const { spines } = this.manifest.semantics;
    return spines.some((spine) => isGrain(spine.grain) && compareGrains(spine.grain, grain) <= 0);
  }

  /** Name of the dimension that is the time of a measure, as groups have it; null without one. */
  timeOf(measure: SemanticMeasure): string | null {
    const model = this.model(measure.model);
    const time = measure.time || (model?.defaultTime ?? "");
    if (model === undefined || time === "" || model.primaryEntity === "") return null;
    const name = `${model.primaryEntity}__${time}`;
    return this.reachable(model).get(name)?.grain === undefined ? null : name;
  }
}

/** Whether a dimension is of rows that hold for a time. */
export function isHeld({ join }: Pick<ReachableDimension, "join">): boolean {
  return join !== null && (join.valid !== null || isHeld({ join: join.from }));
}

/** Whether an expression names one of these, which are in lower case. */
export function namesPrivate(expr: string, names: ReadonlySet<string>): boolean {
  if (names.size === 0) return false;
  const words = namesIn(expr).map((word) => word.toLowerCase());
  const text = expr.toLowerCase();
  return [...names].some((name) => words.includes(name) || (!isWord(name) && text.includes(name)));
}

const WORD = /[\p{L}_][\p{L}\p{N}_$]*/gu;

/** Words of an expression that may be columns. */
const namesIn = (expr: string): readonly string[] => expr.match(WORD) ?? [];

/** What a private expression is of, in lower case: itself, and the column of which it is a function, if it is of one. */
function shownBy(expr: string): readonly string[] {
  const text = expr.toLowerCase();
  const columns = new Set(namesIn(text.replaceAll(/'[^']*'|[\p{L}_][\p{L}\p{N}_$]*\s*\(/gu, " ")));
  return columns.size === 1 ? [text, ...columns] : [text];
}

const isWord = (name: string): boolean => namesIn(name)[0] === name;

/** The coarsest grain whose periods have a part of a date. */
const partGrain = (part: DatePart): Grain => (isGrain(part) ? part : "day");

/** A nanosecond is truncated to what both engines have. */
function grainOf(text: string): Grain {
  return isGrain(text) ? text : text === "nanosecond" ? "microsecond" : "day";
}

export function coarsest(grains: readonly Grain[]): Grain | undefined {
  return grains.toSorted(compareGrains).at(-1);
}
