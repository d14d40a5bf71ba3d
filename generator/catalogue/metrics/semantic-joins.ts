import type { SemanticModel } from "../../manifest/semantic-layer.js";

type Pairs = readonly (readonly [own: string, other: string])[];

/** A many-to-one join by an entity: pairs of expressions that are equal. */
export interface SemanticJoin {
  /** The entities that lead to it. */
  readonly path: readonly string[];
  readonly to: SemanticModel;
  /** The join whose rows it goes on from; null: those of the semantic model itself. */
  readonly from: SemanticJoin | null;
  readonly on: Pairs;
  /** Pairs of the semantic model itself, where the join goes on from another. */
  readonly onFact: Pairs;
  /** Rows hold for a time only. */
  readonly valid: SemanticModel["valid"];
}

/** To the models that one entity leads to, or two in turn, if the other side declares it unique; the near ones first. */
export function joinsOf(model: SemanticModel, models: readonly SemanticModel[]): readonly SemanticJoin[] {
  const near = joinsFrom(model, null, models);
  const far = near.flatMap((join) =>
    joinsFrom(join.to, join, models)
      .filter(({ to }) => to.name !== model.name)
      .map((each) => ({ ...each, onFact: partitions(model, each.to, join.to) })),
  );
  return [...near, ...far];
}

function joinsFrom(
  model: SemanticModel,
  from: SemanticJoin | null,
  models: readonly SemanticModel[],
): readonly SemanticJoin[] {
  return model.entities.flatMap(({ name: entity, expr }) =>
    models.flatMap((to): readonly SemanticJoin[] => {
      const other = to.entities.find(({ name, type }) => name === entity && isUnique(type, to));
      // Rows that hold for a time each are not joined to such rows again.
      const isHeld = model.valid !== null && to.valid !== null;
      if (other === undefined || to === model || isHeld || from?.path.includes(entity) === true) return [];
      const on = [[expr, other.expr] as const, ...partitions(model, to)];
      return [{ path: [...(from?.path ?? []), entity], to, from, on, onFact: [], valid: to.valid }];
    }),
  );
}

/** A natural key is one only among the rows that hold at a time. */
const isUnique = (type: string, { valid }: SemanticModel): boolean =>
  type === "primary" || type === "unique" || (type === "natural" && valid !== null);

const partitionsOf = ({ dimensions }: SemanticModel): SemanticModel["dimensions"] =>
  dimensions.filter(({ isPartition }) => isPartition);

/** Both sides may be split by day: a row then meets the row of its own day, unless what lies `between` has met that. */
function partitions(model: SemanticModel, to: SemanticModel, between?: SemanticModel): Pairs {
  const met = between === undefined ? [] : partitionsOf(between).map(({ name }) => name);
  return partitionsOf(model).flatMap((own) => {
    const other = partitionsOf(to).find(({ name }) => name === own.name && !met.includes(name));
    return other === undefined ? [] : [[own.expr, other.expr] as const];
  });
}
