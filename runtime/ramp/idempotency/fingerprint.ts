import { createHash } from "node:crypto";

export interface Fingerprinted {
  readonly method: string;
  readonly path: string;
  /** The parsed body, or the text of one that is not JSON. */
  readonly body: unknown;
  /** Null on project-level endpoints. */
  readonly customerId: string | null;
}

/** SHA-256 over a request; white space and the order of keys make no other request (decisions.md §B). */
export function fingerprintOf({ method, path, body, customerId }: Fingerprinted): Buffer {
  return createHash("sha256")
    .update(JSON.stringify([method, path, customerId, canonical(body)]))
    .digest();
}

function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== "object" || value === null) return value ?? null;
  // Pairs and not an object: there, keys that look like numbers would not keep their place.
  return Object.entries(value)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, item]) => [key, canonical(item)]);
}
