/** What is imported of the packages, and the sources that it loads at once. `dist/` has the same files. */
export const ENTRIES: Readonly<Record<string, readonly string[]>> = {
  "a generated module": ["runtime/index.ts"],
  "the same, serving PostgreSQL": ["runtime/index.ts", "runtime/postgres/engine.ts"],
  "the same, serving ClickHouse": ["runtime/index.ts", "runtime/clickhouse/engine.ts"],
  "groups and measures beside them": ["runtime/metrics/metrics.ts"],
  "`@routewright/runtime/model` (the generator)": ["runtime/generator-api.ts"],
  "`@routewright/runtime/keys`": ["runtime/server/keys.ts"],
  "keys in a database, beside the server": [
    "runtime/server/accounts/stored-keys.ts",
    "runtime/postgres/connection/postgres-client.ts",
  ],
  "`/odata`, beside the server": ["runtime/server/odata/odata.ts"],
  "`@routewright/runtime/server` (`serve`)": ["runtime/server/server.ts"],
  "`routewright`, before its command": ["generator/cli.ts"],
  "`@routewright/ramp`": ["runtime/ramp/ramp-service.ts"],
};
