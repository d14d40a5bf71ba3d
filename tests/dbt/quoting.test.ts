import { describe, expect, it } from "vitest";
import { run, serve } from "../support/command.js";
import { databaseUrl, ownSchema, query } from "../support/database.js";
import { DbtProject } from "../support/dbt.js";
import { sendRequest, statusAndBody } from "../support/http-client.js";
import { needs } from "../support/needs.js";
import { ownFolder } from "../support/service.js";

const published = (name: string, alias: string): string =>
  `{{ config(materialized='table', alias='${alias}', schema='Mixed', tags=['production', 'shop', 'api:${name}']) }}`;

/** A project whose identifiers dbt does not quote, so that PostgreSQL folds them, with one model that it does. */
async function start() {
  const target = await ownSchema("SELECT 1");
  const project = new DbtProject(target, {
    "dbt_project.yml": JSON.stringify({
      name: "shop",
      profile: "shop",
      quoting: { schema: false, identifier: false },
    }),
    "models/bare.sql": `${published("bare", "BareOrders")} select 1 as id`,
    "models/above.sql": `${published("above", "AboveÄ")} select id + 1 as id from {{ ref('bare') }}`,
    "models/models.yml": JSON.stringify({
      models: ["bare", "above"].map((name) => ({ name, columns: [{ name: "id", data_type: "integer" }] })),
    }),
  });
  const built = await project.run("build");
  expect(built.output).toContain("Completed successfully");
  const folder = ownFolder();
  const variables = {
    DATABASE_URL: databaseUrl,
    DBT_MANIFEST_PATH: project.manifestFile,
    USAGE_ENABLED: "false",
  };
  await run(folder, ["generate"], variables);
  const verified = await run(folder, ["verify"], variables);
  const { url } = await serve(folder, ["--only", "data"], variables);
  return { url, target, verified };
}

const world = needs("dbt") ? await start() : null;

describe.skipIf(world === null)("relations whose names dbt does not quote", () => {
  const { url, target, verified } = world ?? ({} as NonNullable<typeof world>);

  it("are served under the names that the database gives them", async () => {
    const names = await query(
      "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = $1",
      [`${target}_mixed`],
    );
    expect(names.map(({ name }) => name).sort()).toEqual(["aboveÄ", "bareorders"]);
    expect(statusAndBody(await sendRequest(url, "/v1/shop/bare"))).toEqual([200, [{ id: 1 }]]);
    expect(statusAndBody(await sendRequest(url, "/v1/shop/above"))).toEqual([200, [{ id: 2 }]]);
    expect(verified).toMatchObject({ code: 0 });
  });
});
