import { columnNamed, failed, type Outcome, succeeded } from "@routewright/runtime/model";
import type { CopiedColumn, CopiedRelation } from "./copied-relation.js";

interface NamedColumn {
  readonly name: string;
}

/** Pairs the columns of a copy with those of its export, which may have another letter case. */
export function pairedColumns<Source extends NamedColumn>(
  { columns, hasAllColumns, relation }: CopiedRelation,
  exported: readonly Source[],
): Outcome<readonly (readonly [column: CopiedColumn, source: Source])[]> {
  const problems: string[] = [];
  const pairs = columns.flatMap((column): [CopiedColumn, Source][] => {
    const source = columnNamed(exported, column.name);
    if (source !== undefined) return [[column, source]];
    problems.push(`The export of ${relation.join(".")} ${missingText(column, exported)}.`);
    return [];
  });
  const used = new Set(pairs.map(([, source]) => source));
  const others = hasAllColumns ? exported.filter((source) => !used.has(source)) : [];
  const added = others.map(
    (source) => [{ name: source.name, type: null, isNotNull: false }, source] as const,
  );
  return problems.length > 0 ? failed(...problems) : succeeded([...pairs, ...added]);
}

function missingText({ name }: CopiedColumn, exported: readonly NamedColumn[]): string {
  const same = exported.filter((column) => column.name.toLowerCase() === name.toLowerCase());
  if (same.length > 1) return `has several columns that ${name} may mean: ${namesOf(same)}`;
  return `has no column ${name}; it has ${namesOf(exported)}`;
}

const MAX_NAMES = 30;

function namesOf(columns: readonly NamedColumn[]): string {
  const shown = columns.slice(0, MAX_NAMES).map(({ name }) => name);
  return [...shown, ...(columns.length > MAX_NAMES ? ["…"] : [])].join(", ");
}
