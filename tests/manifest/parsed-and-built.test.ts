import { expect, it } from "vitest";
import { catalogueOf } from "../../generator/catalogue/build.js";
import { parseManifest } from "../../generator/manifest/manifest.js";
import { render } from "../../generator/render/render.js";
import { lintJson } from "../lint/run.js";
import { manifestOf } from "../support/manifest.js";

type Node = Record<string, unknown> & { columns: Record<string, object>; depends_on: object };

/** A published model over an ephemeral one, whose SQL dbt inlines when it compiles. */
function manifest(isCompiled: boolean): unknown {
  const json = manifestOf([
    { name: "users", tags: [], columns: { id: "integer", email: "text" } },
    { name: "hashed", columns: { id: "integer", email: "text" }, parents: ["model.test.users"] },
  ]) as { nodes: Record<string, Node> };
  const [users, hashed] = ["users", "hashed"].map((name) => json.nodes[`model.test.${name}`]);
  if (users === undefined || hashed === undefined) throw new Error("no nodes");
  users.columns["email"] = { ...users.columns["email"], meta: { pii: true } };
  users["raw_code"] = "select id, email from {{ source('crm', 'users') }}";
  hashed["raw_code"] = "select id, md5(email) as email from {{ ref('users') }}";
  delete hashed["compiled_code"];
  if (isCompiled)
    hashed["compiled_code"] =
      "with __dbt__cte__users as (select id, email from crm.users) select id, md5(email) as email from __dbt__cte__users";
  return json;
}

it("a manifest of `dbt parse` and one of `dbt build` give the same files and the same findings", () => {
  const files = [true, false].map((isCompiled) => {
    const reading = parseManifest(JSON.stringify(manifest(isCompiled)), "manifest.json");
    if (!reading.ok) throw new Error(reading.problems.join(" "));
    return [...render(catalogueOf(reading.value))];
  });
  expect(files[0]).toEqual(files[1]);
  expect(lintJson(manifest(true))).toEqual(lintJson(manifest(false)));
});
