import { manifestOf } from "../support/manifest.js";

/** dbt's files of one build, in the order in which a pipeline copies them; each says which build it is of. */
export function buildFiles(
  build: number,
  invocation = `build-${String(build)}`,
): Readonly<Record<string, string>> {
  const metadata = { invocation_id: invocation };
  const model = {
    name: "orders",
    tags: ["production", "shop", "api:orders"],
    description: `Build ${String(build)}.`,
  };
  return {
    "manifest.json": JSON.stringify(manifestOf([{ ...model, columns: { n: null } }], metadata)),
    "catalog.json": JSON.stringify({
      metadata: { dbt_schema_version: "https://schemas.getdbt.com/dbt/catalog/v1.json", ...metadata },
      nodes: {
        "model.test.orders": { columns: { n: { name: "n", type: build % 2 ? "bigint" : "text", index: 1 } } },
      },
    }),
    "run_results.json": JSON.stringify({
      metadata: {
        dbt_schema_version: "https://schemas.getdbt.com/dbt/run-results/v6.json",
        generated_at: "2026-05-21T03:01:00.000000Z",
        ...metadata,
      },
      results: [
        {
          unique_id: "model.test.orders",
          status: "success",
          timing: [
            { name: "execute", completed_at: new Date(Date.UTC(2026, 4, 21, 3, 0, build)).toISOString() },
          ],
        },
      ],
      args: { which: "build" },
    }),
  };
}
