/** Rows that shared caches may keep, and rows that they may not. */
import { purgeCopies, type SharedCache } from "../../../generator/commands/shared-cache.js";
import { ownSchema } from "../../support/database.js";
import type { Reply } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import type { RunningService } from "../../../runtime/server/server.js";
import { generateInto, ownFolder, startFolder } from "../../support/service.js";

/** Longer than any of these tests. */
const MAX_AGE = 3600;
export const PUBLIC = `public, max-age=${String(MAX_AGE)}, stale-while-revalidate=30`;

const age = { max_age: { max_age: MAX_AGE, stale_while_revalidate: 30 } };
const columns = { n: "bigint", label: "text" };
const tagged = (name: string, ...tags: string[]) => ["production", "shop", `api:${name}`, ...tags];
export interface PublicRows {
  readonly schema: string;
  readonly manifest: unknown;
  /** A service of these models. `cache`: what it asks to remove copies. */
  serve(cache?: () => SharedCache | null, variables?: Record<string, string>): Promise<RunningService>;
}

/** Models of which two are public, in a schema of the test file's own. */
export async function publicRows(): Promise<PublicRows> {
  const schema = await ownSchema(`
    CREATE TABLE @.rates AS SELECT n::bigint, 'old'::text AS label FROM generate_series(1, 3) AS n;
    CREATE TABLE @.many AS SELECT n, 'label ' || n AS label FROM generate_series(1, 2000) AS n;
    CREATE TABLE @.mine AS SELECT 'test'::text AS org_id, 1 AS n;
    CREATE TABLE @.paid AS SELECT 1 AS n;
    CREATE TABLE @.plain AS SELECT 1 AS n`);
  const manifest = manifestIn(schema);
  return {
    schema,
    manifest,
    serve: (cache = () => null, variables = {}) => {
      const folder = ownFolder();
      generateInto(folder, manifest);
      return startFolder(folder, variables, {
        onRowsChanged: (endpoints) => {
          const to = cache();
          if (to !== null) void purgeCopies(to, endpoints);
        },
      });
    },
  };
}

const manifestIn = (schema: string) =>
  manifestOf([
    {
      name: "rates",
      schema,
      columns,
      routewright: age,
      api: {
        methods: ["GET", "POST"],
        allow_unfiltered: true,
        pagination: { enabled: true, default_limit: 2, max_limit: 3 },
        parameters: [{ name: "label", column: "label", operator: "=", type: "string" }],
        sort: [{ column: "n", direction: "ASC" }],
      },
    },
    {
      name: "mine",
      schema,
      columns: { org_id: "text", n: "bigint" },
      routewright: { ...age, rows: { column: "org_id", equals: "org" } },
    },
    {
      name: "paid",
      schema,
      tags: tagged("paid", "tier1"),
      columns: { n: "bigint" },
      routewright: age,
      api: {
        allow_unfiltered: true,
        pagination: { enabled: true, default_limit: 2, max_limit: 3 },
        sort: [{ column: "n", direction: "ASC" }],
      },
    },
    { name: "many", schema, columns: { n: "int", label: "text" }, routewright: age },
    { name: "plain", schema, columns: { n: "bigint" } },
  ]);

/** Headers, some in several lines. */
export type Lines = Readonly<Record<string, string | string[]>>;

export const headersOf = ({ headers }: Reply, ...names: string[]) => names.map((name) => headers[name]);
