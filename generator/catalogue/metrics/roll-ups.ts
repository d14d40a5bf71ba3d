import {
  type Aggregation,
  compareGrains,
  type Grain,
  isDayGrain,
  leavesOf,
  type MetricTree,
  type Relation,
  type RollUp,
} from "@routewright/runtime/model";
import { member } from "../../manifest/json.js";
import { knownColumns, type Model } from "../../manifest/model.js";
import type { SemanticMeasure, SemanticModel } from "../../manifest/semantic-layer.js";
import { closest, formatValue } from "../../manifest/strings.js";
import { type Complaint, complaint, type Warning } from "../catalogue.js";
import { isReadBy } from "../lineage.js";
import { fitsModelSetting } from "../settings/meta-routewright.js";
import type { WrittenRollUp } from "../settings/roll-up-of.js";
import { unknownColumn } from "../settings/setting-columns.js";
import { jsonKindOf } from "../types/json-schema.js";
import { dataTypeOf } from "../types/read-type.js";
import { type AggregateParts, NotCompiled } from "./aggregate-parts.js";
import { aggregationOf } from "./leaf-parts.js";
import type { SemanticIndex } from "./semantic-index.js";

/** A model that holds totals of a semantic model by group. */
export interface DeclaredRollUp {
  readonly of: SemanticModel;
  readonly node: string;
  readonly relation: Relation;
  readonly groups: readonly { readonly expr: string; readonly column: string; readonly grain?: Grain }[];
  readonly totals: readonly {
    readonly aggregation: Aggregation;
    readonly expr: string;
    readonly column: string;
  }[];
}

const BASE = "$.meta.routewright.rollup_of";

/** The roll-ups of all models, published or not; those with a problem are not used. */
export function declaredRollUps(index: SemanticIndex): {
  readonly rollUps: readonly DeclaredRollUp[];
  readonly warnings: readonly Warning[];
} {
  const rollUps: DeclaredRollUp[] = [];
  const warnings: Warning[] = [];
  for (const model of index.manifest.models) {
    const { rollup_of: written } = model.routewright;
    if (written === undefined || written === null) continue;
    const read = new RollUpReader(index, model).read(written);
    if (read.problems.length === 0 && read.rollUp !== null) rollUps.push(read.rollUp);
    for (const problem of read.problems)
      warnings.push({ model: model.uniqueId, ...problem, isUnusedRollUp: true });
  }
  return { rollUps, warnings };
}

/** Those of a catalogue's aggregate: what its relations have of them, the fewest groups first. */
export function rollUpsOf(
  declared: readonly DeclaredRollUp[],
  parts: AggregateParts,
  metrics: readonly MetricTree[],
): readonly RollUp[] {
  const leaves = metrics.flatMap(leavesOf);
  const made = declared.map(({ of, node, relation, groups, totals }): RollUp => {
    const valueOf = (expr: string): string | undefined => parts.knownValue(of, expr);
    return {
      of: of.name,
      node,
      relation,
      groups: groups.flatMap(({ expr, ...group }) => {
        const value = valueOf(expr);
        return value === undefined ? [] : [{ value, ...group }];
      }),
      totals: totals.flatMap(({ expr, ...total }) => {
        const value = valueOf(expr);
        return value === undefined ? [] : [{ ...total, value }];
      }),
    };
  });
  const isUsed = ({ of, totals }: RollUp): boolean =>
    leaves.some(
      ({ fact, value, aggregation }) =>
        fact === of && totals.some((total) => total.value === value && total.aggregation === aggregation),
    );
  return made.filter(isUsed).toSorted((a, b) => a.groups.length - b.groups.length);
}

interface ReadRollUp {
  readonly rollUp: DeclaredRollUp | null;
  readonly problems: readonly Complaint[];
}

/** Reads the setting of one model. */
class RollUpReader {
  readonly #index: SemanticIndex;
  readonly #model: Model;
  readonly #problems: Complaint[] = [];

  constructor(index: SemanticIndex, model: Model) {
    this.#index = index;
    this.#model = model;
  }

  read(written: unknown): ReadRollUp {
    if (!fitsModelSetting("rollup_of", written)) {
      this.#report("", "It is not a semantic model with its groups and measures", EXAMPLE);
      return { rollUp: null, problems: this.#problems };
    }
    const { semantic_model: name, group_by: groups, measures } = written as WrittenRollUp;
    const of = this.#index.model(name);
    if (of === undefined) {
      const names = this.#index.manifest.semantics.models.map((each) => each.name);
      this.#unknown(".semantic_model", "semantic model", name, names);
      return { rollUp: null, problems: this.#problems };
    }
    this.#checkRows(of);
    const { uniqueId, schema, alias } = this.#model;
    const rollUp: DeclaredRollUp = {
      of,
      node: uniqueId,
      relation: [schema, alias],
      groups: Object.entries(groups).flatMap(([each, column]) => this.#group(of, each, column)),
      totals: Object.entries(measures).flatMap(([each, column]) => this.#total(of, each, column)),
    };
    this.#checkOwner(of, rollUp);
    return { rollUp, problems: this.#problems };
  }

  /** Its rows are those of a build that began after the builds of the semantic model's rows. */
  #checkRows(of: SemanticModel): void {
    const { uniqueId } = this.#model;
    const { graph } = this.#index.manifest;
    if (graph.get(uniqueId)?.isBuilt !== true)
      this.#report("", "The model stores no rows of its own", "Materialize it as a table.");
    else if (!isReadBy(of.model, uniqueId, graph))
      this.#report(
        ".semantic_model",
        `The model does not select from ${of.model}, so that it is not known when it has the rows of it`,
        "Select from that model itself.",
      );
  }

  #checkOwner(of: SemanticModel, { groups }: DeclaredRollUp): void {
    const own = this.#index.ownRowsOf(of);
    if (own === null || groups.some(({ expr }) => expr.toLowerCase() === own.toLowerCase())) return;
    this.#report(
      ".group_by",
      `Callers of ${of.name} read their own rows by ${formatValue(own)}, which is no group here`,
      "Group by it too: without it nobody may read the totals.",
    );
  }

  #group(
    of: SemanticModel,
    name: string,
    written: WrittenRollUp["group_by"][string],
  ): DeclaredRollUp["groups"] {
    const at = `.group_by${member(name)}`;
    const { column, grain } = typeof written === "string" ? { column: written } : written;
    const dimension = of.dimensions.find((each) => each.name === name);
    const own = this.#index.ownRowsOf(of);
    const found = dimension ?? of.entities.find((each) => each.name === name);
    const expr = found?.expr ?? (name === own ? own : undefined);
    if (expr === undefined) {
      const names = [...of.dimensions, ...of.entities].map((each) => each.name);
      this.#unknown(at, "dimension or entity", name, names);
      return [];
    }
    const type = this.#typeOf(at, column);
    if (dimension?.isTime !== true) {
      if (grain !== undefined) this.#report(at, `${formatValue(name)} is no time`, "Leave its grain out.");
      else this.#compareTypes(at, column, type, this.#typeOfExpr(of, expr));
      return [{ expr, column }];
    }
    if (grain === undefined) {
      this.#report(at, `${formatValue(name)} is a time, of which the grain is missing`, EXAMPLE);
      return [];
    }
    if (isGrainFiner(grain, dimension.grain))
      this.#report(
        at,
        `${grain} is finer than ${formatValue(name)}, which has ${dimension.grain}`,
        "Write a grain that it has.",
      );
    if (isDayGrain(grain) && !["date", "unknown"].includes(kindOf(type)))
      this.#report(
        at,
        `The column ${formatValue(column)} is ${formatValue(type)}: periods of days are dates`,
        "Cast it to a date, in UTC.",
      );
    return [{ expr, column, grain }];
  }

  #total(of: SemanticModel, name: string, column: string): DeclaredRollUp["totals"] {
    const at = `.measures${member(name)}`;
    const measure = this.#measure(of, name);
    if (measure === undefined) {
      this.#unknown(at, "measure", name, this.#measureNames(of));
      return [];
    }
    const type = this.#typeOf(at, column);
    try {
      const { aggregation } = aggregationOf(measure);
      const own = this.#typeOfExpr(of, measure.expr);
      const problem =
        aggregation === "count_distinct" && measure.nonAdditive === null
          ? statesProblem(this.#index.manifest.adapter, type, own)
          : totalProblem(measure, aggregation, kindOf(own), kindOf(type));
      if (problem === null) return [{ aggregation, expr: measure.expr, column }];
      this.#report(
        at,
        `${formatValue(name)} ${problem}`,
        "Leave the measure out: it is answered from the rows themselves.",
      );
    } catch (error) {
      if (!(error instanceof NotCompiled)) throw error;
      this.#report(at, error.message.replace(/\.$/, ""), "Leave the measure out.");
    }
    return [];
  }

  /** A measure of the semantic model; or what a simple metric aggregates itself, without filters. */
  #measure(of: SemanticModel, name: string): SemanticMeasure | undefined {
    const { simple, filters = [] } = this.#index.metrics.get(name) ?? {};
    const own = simple?.measure;
    const isOwn =
      typeof own === "object" &&
      own.model === of.name &&
      filters.length + (simple?.filters.length ?? 0) === 0;
    return of.measures.get(name) ?? (isOwn ? own : undefined);
  }

  #measureNames(of: SemanticModel): readonly string[] {
    const metrics = [...this.#index.metrics.keys()].filter((name) => this.#measure(of, name) !== undefined);
    return [...new Set([...of.measures.keys(), ...metrics])];
  }

  /** The declared type of a column of the roll-up; null where none is known. */
  #typeOf(at: string, column: string): string | null {
    const columns = knownColumns(this.#model);
    if (columns.length > 0)
      for (const { message, hint } of unknownColumn(column, at, columns))
        this.#report(at, message.replace(/\.$/, ""), hint);
    return columns.find(({ name }) => name === column)?.type ?? null;
  }

  #typeOfExpr(of: SemanticModel, expr: string): string | null {
    const columns = this.#index.columns(of);
    return columns.find(({ name }) => name.toLowerCase() === expr.toLowerCase())?.type ?? null;
  }

  #compareTypes(at: string, column: string, type: string | null, wanted: string | null): void {
    const [own, other] = [kindOf(type), kindOf(wanted)];
    if (own === other || own === "unknown" || other === "unknown") return;
    this.#report(
      at,
      `The column ${formatValue(column)} is ${formatValue(type)}, and what it groups is ${formatValue(wanted)}`,
      "Give it the same type.",
    );
  }

  #unknown(at: string, what: string, name: string, names: readonly string[]): void {
    const near = closest(name, names);
    const hint = near ? `Did you mean ${formatValue(near)}?` : `Known: ${names.join(", ") || "none"}.`;
    this.#report(at, `There is no ${what} ${formatValue(name)}`, hint);
  }

  #report(at: string, message: string, hint: string): void {
    this.#problems.push(...complaint(BASE + at, `${message}; the roll-up is not used.`, hint));
  }
}

const EXAMPLE = 'See "Roll-ups" in the documentation of `meta.routewright`.';

const kindOf = (type: string | null): string => jsonKindOf(dataTypeOf(type));

const isGrainFiner = (grain: Grain, own: string): boolean => compareGrains(grain, own as Grain) < 0;

const TOTALS: ReadonlySet<Aggregation> = new Set(["sum", "count", "min", "max", "sum_boolean"]);

/** Why a column does not hold the distinct values of parts: only states of `uniqExact` over the same type do. */
function statesProblem(adapter: string | null, type: string | null, of: string | null): string | null {
  if (adapter !== "clickhouse")
    return "is count_distinct, which does not follow from those of parts: only ClickHouse has states of it";
  if (type === null) return null;
  const [, inner] = /^AggregateFunction\(uniqExact, (.*)\)$/s.exec(type) ?? [];
  if (inner === undefined)
    return `counts distinct values, and its column is ${type}: only states of uniqExact hold them (\`uniqExactState\`)`;
  return of === null || inner === withoutDictionary(of)
    ? null
    : `counts distinct values of ${of}, and its column has states of ${inner}`;
}

/** As ClickHouse writes the type in that of a state. */
const withoutDictionary = (type: string): string => type.replace(/^LowCardinality\((.*)\)$/s, "$1");

/** Why totals of parts do not give the same total. */
export function totalProblem(
  { nonAdditive }: SemanticMeasure,
  aggregation: Aggregation,
  kind: string,
  total: string,
): string | null {
  if (!TOTALS.has(aggregation)) return `is ${aggregation}, which does not follow from those of parts`;
  if (nonAdditive !== null) return "is non-additive, and does not follow from its parts";
  if (aggregation === "count" || aggregation === "sum_boolean")
    return total === "integer" || total === "unknown"
      ? null
      : "counts, and its column holds no whole numbers";
  if (kind === "float" || total === "float") return "has floats, whose sums depend on the order of rows";
  const isText = aggregation !== "sum" && kind === "string";
  return isText ? "is of texts, whose order a roll-up may have otherwise" : null;
}
