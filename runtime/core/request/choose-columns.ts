import { BoundedCache } from "../http/bounded-cache.js";
import { Projection } from "../model/projection.js";

/** Of a column with what an engine makes of it for each format. */
const COLUMN_BYTES = 4000;

/** What is made of a choice is kept with it: plans of statements are kept by it. Callers choose. */
const CHOICES = new BoundedCache<Projection>("choices", {
  sizeOf: ({ columns }) => COLUMN_BYTES * (columns.length + 1),
});

/** The columns of these names in their order; null where the endpoint does not have one of them. */
export function chooseColumns(all: Projection, names: readonly string[]): Projection | null {
  // A list may name a column 1,000 times.
  const different = [...new Set(names)];
  const key = `${all.id}\0${different.join("\0")}`;
  const known = CHOICES.get(key);
  if (known !== undefined) return known;
  const found = different.map((name) => all.columns.find((column) => column.name === name));
  const columns = found.filter((column) => column !== undefined);
  if (columns.length < found.length) return null;
  const made = new Projection(columns);
  CHOICES.set(key, made);
  return made;
}
