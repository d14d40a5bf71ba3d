import { changeName, previousName } from "../../core/model/aggregate/group-options.js";
import type { CatalogueEndpoint } from "../../pages/catalogue-body.js";
import { unitOf } from "../../pages/units.js";

/** What is said of columns of rows, by name; of those of which nothing is known, nothing. */
export interface ColumnNotes {
  /** What a number is counted in, as `$`, `%` or `ms`. */
  readonly units?: Readonly<Record<string, string>>;
  /** The period that a time stands for, as `month`. */
  readonly grains?: Readonly<Record<string, string>>;
}

/** The notes of the columns that rows have, of those of `endpoint`. */
export function columnNotes(
  { columns, aggregate }: CatalogueEndpoint,
  names: readonly string[],
): ColumnNotes {
  const measures = (aggregate?.measures ?? []).flatMap(({ name, description }) =>
    [name, previousName(name), changeName(name)].map((each) => [each, { name, description }] as const),
  );
  const described = new Map([...columns.map((column) => [column.name, column] as const), ...measures]);
  const times = new Map<string, string>(
    (aggregate?.groups ?? []).flatMap(({ name, grains = [] }) =>
      grains.map((grain) => [`${name}__${grain}`, grain] as const),
    ),
  );
  const units = notes(names, (name) => {
    const column = described.get(name);
    if (column === undefined) return "";
    const { before, behind } = unitOf(column);
    return (before + behind).trim();
  });
  const grains = notes(names, (name) => times.get(name) ?? "");
  return { ...(units && { units }), ...(grains && { grains }) };
}

function notes(
  names: readonly string[],
  of: (name: string) => string,
): Readonly<Record<string, string>> | null {
  const found = names.map((name) => [name, of(name)] as const).filter(([, note]) => note !== "");
  return found.length === 0 ? null : Object.fromEntries(found);
}
