import { visible, isObject } from "../../manifest/json.js";

/** An error in a `meta.api`; `at` is its path there: `parameters[0].column`. */
export interface ValidationError {
  readonly at: string;
  readonly message: string;
  readonly hint: string;
}

/** A value from a manifest for a message: on one line, cut in length and depth. */
export function formatValue(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? "[]" : "[…]";
  if (isObject(value)) return Object.keys(value).length === 0 ? "{}" : "{…}";
  const text = visible(JSON.stringify(typeof value === "string" ? value.slice(0, MAX_LENGTH) : value));
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text;
}

const MAX_LENGTH = 80;

/** The known name nearest to a misspelled one; null where more than `most` or a third of its letters, rounded up, differ. */
export function closest(name: string, known: readonly string[], most = Infinity): string | null {
  const near = known
    .filter((other) => Math.abs(other.length - name.length) <= 3 && name.length <= 100)
    .map((other) => ({ other, distance: editDistance(name.toLowerCase(), other.toLowerCase()) }))
    .filter(({ other, distance }) => distance <= Math.min(most, Math.ceil(other.length / 3)))
    .sort((a, b) => a.distance - b.distance);
  return near[0]?.other ?? null;
}

/** Levenshtein distance, one row at a time. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const swap = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
