import type {
  AggregateDimension,
  AggregateJoin,
  AggregateRelation,
  AggregateValue,
  DerivedTime,
  DimensionPlace,
  Fact,
  Grain,
  SpineUnits,
  TimeSpine,
} from "@routewright/runtime/model";
import { columnNamed, isGrain, projectSqlProblem } from "@routewright/runtime/model";
import type { SemanticModel, SemanticSpine } from "../../manifest/semantic-layer.js";
import type { DerivedDimension, ReachableDimension, SemanticIndex } from "./semantic-index.js";
import type { SemanticJoin } from "./semantic-joins.js";

/** Words that look like a column and are a value of their own. */
const WORDS_OF_SQL: ReadonlySet<string> = new Set([
  "true",
  "false",
  "null",
  "current_date",
  "current_timestamp",
]);

/** Why a part of the semantic layer is not compiled. */
export class NotCompiled extends Error {}

interface RelationValues {
  readonly model: SemanticModel;
  readonly byExpr: Map<string, AggregateValue>;
}

/** Collects the relations, values, joins and dimensions that metrics use. */
export class AggregateParts {
  readonly #index: SemanticIndex;
  readonly #relations = new Map<string, RelationValues>();
  readonly #facts = new Map<string, AggregateJoin[]>();
  readonly #dimensions = new Map<string, { dimension: ReachableDimension; places: DimensionPlace[] }>();

  /** Columns of time spines that dimensions are. */
  readonly #spineValues = new Map<string, ReadonlySet<string>>();

  constructor(index: SemanticIndex) {
    this.#index = index;
  }

  /** Name of a value of a semantic model. */
  value(model: SemanticModel, expr: string): string {
    const { byExpr } = this.#relation(model);
    const known = byExpr.get(expr);
    if (known !== undefined) return known.name;
    const names = new Set([...byExpr.values()].map(({ name }) => name));
    const made = this.#made(model, expr, (name) => {
      let free = name;
      for (let i = 2; names.has(free); i++) free = `${name}_${String(i)}`;
      return free;
    });
    byExpr.set(expr, made);
    return made.name;
  }

  /** The name of a value that is collected already. */
  knownValue(model: SemanticModel, expr: string): string | undefined {
    return this.#relations.get(model.name)?.byExpr.get(expr)?.name;
  }

  #made(model: SemanticModel, expr: string, free: (name: string) => string): AggregateValue {
    const columns = this.#index.columns(model);
    const isName = /^[A-Za-z_]\w*$/.test(expr) && !WORDS_OF_SQL.has(expr.toLowerCase());
    if (isName) {
      const column = columnNamed(columns, expr)?.name ?? expr;
      return { name: free(column), column };
    }
    const problem = projectSqlProblem([expr]);
    if (problem !== null)
      throw new NotCompiled(`The expression ${expr} of ${model.name} is not compiled: ${problem}.`);
    return { name: free("expression"), sql: expr };
  }

  #relation(model: SemanticModel): RelationValues {
    const known = this.#relations.get(model.name);
    if (known !== undefined) return known;
    const problem = this.#index.problemOf(model);
    if (problem !== null) throw new NotCompiled(problem);
    const made: RelationValues = { model, byExpr: new Map() };
    this.#relations.set(model.name, made);
    const own = this.#index.ownRowsOf(model);
    if (own !== null) made.byExpr.set(own, { name: own, column: own });
    return made;
  }

  fact(model: SemanticModel): string {
    this.#relation(model);
    if (!this.#facts.has(model.name)) this.#facts.set(model.name, []);
    return model.name;
  }

  /** Makes a dimension known for a fact. Throws where the fact has no such dimension. */
  dimension(fact: SemanticModel, name: string): ReachableDimension {
    const found = this.#index.reachable(fact).get(name);
    if (found === undefined)
      throw new NotCompiled(`${fact.name} has no dimension ${name} of its own or at most two joins away.`);
    const known = this.#dimensions.get(name) ?? { dimension: found, places: [] };
    this.#dimensions.set(name, known);
    if (!known.places.some((place) => place.fact === fact.name)) {
      known.places.push(this.#place(fact, found));
    }
    return found;
  }

  #place(fact: SemanticModel, { model, expr, join: semantic, derived }: ReachableDimension): DimensionPlace {
    const value = this.value(model, expr);
    const join = semantic === null ? undefined : this.#join(fact, semantic);
    const place = { fact: this.fact(fact), value, ...(join !== undefined && { join }) };
    if (derived === undefined || "part" in derived) return place;
    const { spine, column } = derived;
    const to = this.#spineName(spine);
    const position = this.#joinPosition(fact, {
      to,
      ...(join !== undefined && { from: join }),
      on: [[value, spine.column]],
      ...(isGrain(spine.grain) && { grain: spine.grain }),
    });
    this.#useSpine(to, column);
    return { fact: fact.name, value: column, join: position };
  }

  #joinPosition(fact: SemanticModel, made: AggregateJoin): number {
    const joins = this.#facts.get(this.fact(fact)) ?? [];
    const position = joins.findIndex((each) => JSON.stringify(each) === JSON.stringify(made));
    return position >= 0 ? position : joins.push(made) - 1;
  }

  #spineName(spine: SemanticSpine): string {
    return spineName(this.#spines.indexOf(spine));
  }

  /** Periods of a time spine by their name; null where no time spine has such. */
  units(count: number, unit: string): { readonly of: SpineUnits; readonly grain: Grain } | null {
    for (const spine of this.#spines) {
      const found = spine.customs.find(({ name }) => name === unit || `${name}s` === unit);
      if (found === undefined || !isGrain(spine.grain)) continue;
      const name = this.#spineName(spine);
      this.#useSpine(name, found.column);
      return { of: { count, spine: name, value: found.column }, grain: spine.grain };
    }
    return null;
  }

  #useSpine(name: string, column: string): void {
    this.#spineValues.set(name, new Set([...(this.#spineValues.get(name) ?? []), column]));
  }

  get #spines(): readonly SemanticSpine[] {
    return this.#index.manifest.semantics.spines.filter(({ grain }) => isGrain(grain));
  }

  /** The position of a join, after the one that it goes on from. */
  #join(fact: SemanticModel, { to, from, on, onFact, valid }: SemanticJoin): number {
    const before = from === null ? undefined : this.#join(fact, from);
    const made: AggregateJoin = {
      to: to.name,
      ...(before !== undefined && { from: before }),
      on: on.map(([own, other]) => [this.value(from?.to ?? fact, own), this.value(to, other)] as const),
      ...(onFact.length > 0 && {
        onFact: onFact.map(([own, other]) => [this.value(fact, own), this.value(to, other)] as const),
      }),
      ...(valid !== null && {
        valid: { from: this.value(to, valid.from), until: this.value(to, valid.until) },
      }),
    };
    return this.#joinPosition(fact, made);
  }

  #derived(derived: DerivedDimension): DerivedTime {
    const { time } = derived;
    return "part" in derived
      ? { time, part: derived.part }
      : { time, spine: this.#spineName(derived.spine), value: derived.column };
  }

  get models(): readonly SemanticModel[] {
    return [...this.#relations.values()].map(({ model }) => model);
  }

  /** Everything collected; with the time spines of the project where a measure reads them. */
  parts(readsSpines: boolean): {
    readonly relations: readonly AggregateRelation[];
    readonly facts: readonly Fact[];
    readonly dimensions: readonly AggregateDimension[];
    readonly spines: readonly TimeSpine[];
  } {
    const spines = this.#spines.flatMap((spine, i) =>
      readsSpines || this.#spineValues.has(spineName(i)) ? [{ ...spine, name: spineName(i) }] : [],
    );
    const relations = [...this.#relations].map(([name, { model, byExpr }]): AggregateRelation => {
      const own = this.#index.ownRowsOf(model);
      return {
        name,
        relation: model.relation,
        values: [...byExpr.values()],
        ...(own !== null && { rows: { column: own, equals: "org" as const } }),
      };
    });
    return {
      relations: [
        ...relations,
        ...spines.map(({ name, relation, column }) => ({
          name,
          relation,
          values: [...new Set([column, ...(this.#spineValues.get(name) ?? [])])].map((each) => ({
            name: each,
            column: each,
          })),
        })),
      ],
      facts: [...this.#facts].map(([relation, joins]) => ({ relation, joins })),
      dimensions: [...this.#dimensions].map(([name, { dimension, places }]) => ({
        name,
        ...(dimension.grain !== undefined && { grain: dimension.grain }),
        ...(dimension.derived !== undefined && { derived: this.#derived(dimension.derived) }),
        places,
      })),
      spines: spines.flatMap(({ name, column, grain }) =>
        readsSpines && isGrain(grain) ? [{ relation: name, value: column, grain }] : [],
      ),
    };
  }
}

/** No semantic model has a space in its name. */
const SPINE = "time spine ";
const spineName = (i: number): string => SPINE + String(i + 1);

/** Whether a relation of an aggregate is a time spine. */
export const isSpine = ({ name }: AggregateRelation): boolean => name.startsWith(SPINE);
