export interface WithName {
  readonly name: string;
}

/**
 * The columns of a relation that a model's name may mean: the one of exactly that name, else those that differ in letter case
 * only. Two and more are ambiguous.
 */
export function columnsNamed<Column extends WithName>(
  columns: readonly Column[],
  name: string,
): readonly Column[] {
  const exact = columns.find((column) => column.name === name);
  if (exact !== undefined) return [exact];
  const folded = name.toLowerCase();
  return columns.filter((column) => column.name.toLowerCase() === folded);
}

/** The column that a model's name means; undefined where the relation has none, or several of which none has exactly that name. */
export function columnNamed<Column extends WithName>(
  columns: readonly Column[],
  name: string,
): Column | undefined {
  const [column, ...others] = columnsNamed(columns, name);
  return others.length === 0 ? column : undefined;
}
