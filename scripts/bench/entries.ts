/** What is imported of the packages, and the sources that it loads at once. `dist/` has the same files. */
export const ENTRIES: Readonly<Record<string, readonly string[]>> = {
  "a generated module": ["runtime/index.ts"],
  "the same, serving PostgreSQL": ["runtime/index.ts", "runtime/warehouse/postgres/engine.ts"],
  "the same, serving ClickHouse": ["runtime/index.ts", "runtime/warehouse/clickhouse/engine.ts"],
  "groups and measures beside them": ["runtime/metrics/metrics.ts"],
  "`@routewright/runtime/model` (the generator)": ["runtime/generator-api.ts"],
  "`@routewright/runtime/keys`": ["runtime/keys.ts"],
  "`@routewright/runtime/server` (`serve`)": ["runtime/server.ts"],
  "`@routewright/runtime/ramp`": ["runtime/ramp/ramp-service.ts"],
};
