import { randomBytes } from "node:crypto";
import { manifestOf } from "../support/manifest.js";
import { serveManifest } from "../support/service.js";

/** Rows of the relation that the load asks for. */
export const ROWS = 4000;

/**
 * What the database of these tests holds: `pages` is answered in one piece, `whole` in many, and `spilling` takes a
 * temporary file.
 */
export const RELATIONS = `
  CREATE TABLE pages AS SELECT i, 'row ' || i AS text FROM generate_series(1, ${String(ROWS)}) i;
  ALTER TABLE pages ADD PRIMARY KEY (i);
  CREATE VIEW whole AS TABLE pages;
  CREATE VIEW spilling AS SELECT count(*) FROM generate_series(1, 1000000)`;

const BY_I = [{ column: "i", direction: "ASC" }];
const TAGS = ["production", "faults", "tier3"];

export const MANIFEST = manifestOf([
  {
    name: "pages",
    schema: "public",
    tags: [...TAGS, "api:pages"],
    columns: { i: "integer", text: "text" },
    api: {
      methods: ["GET"],
      allow_unfiltered: true,
      sort: BY_I,
      pagination: { enabled: true, default_limit: 10, max_limit: 100 },
    },
  },
  {
    name: "whole",
    schema: "public",
    tags: [...TAGS, "api:whole"],
    columns: { i: "integer", text: "text" },
    api: { methods: ["GET"], allow_unfiltered: true, sort: BY_I },
  },
  { name: "spilling", schema: "public", tags: [...TAGS, "api:spilling"] },
]);

/** The rows from one on, as the service must write them. */
export function rowsFrom(first: number, count: number): string {
  const numbers = Array.from({ length: Math.max(0, Math.min(count, ROWS - first + 1)) }, (_, n) => first + n);
  return `[${numbers.map((i) => `{"i":${String(i)},"text":"row ${String(i)}"}`).join(",")}]`;
}

/** Enough that no window is used up. */
const KEYS = Array.from({ length: 60 }, () => `sk_live_${randomBytes(16).toString("hex")}`);
let next = 0;

/** A key of the highest tier, another one each time. */
export function someKey(): string {
  return KEYS[next++ % KEYS.length] ?? "";
}

/** Serves the manifest above from a database. */
export function serveFrom(variables: Readonly<Record<string, string>>): Promise<string> {
  const keys = Object.fromEntries(KEYS.map((key) => [key, "tier3"]));
  return serveManifest(MANIFEST, { ...variables, API_KEYS: JSON.stringify(keys) });
}

/** Status of `/health`. */
export async function health(base: string): Promise<number> {
  const response = await fetch(`${base}/health`);
  await response.text();
  return response.status;
}
