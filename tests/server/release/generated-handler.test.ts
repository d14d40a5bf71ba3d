import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { generateInto, ownFolder, startFolder } from "../../support/service.js";
import { sendRequest } from "../../support/http-client.js";

it("runs the handler that the generated module exports, as it was reviewed", async () => {
  const schema = await ownSchema("CREATE TABLE @.items AS SELECT 1 AS id");
  const folder = ownFolder();
  const tags = ["production", "shop", "api:items"];
  generateInto(folder, manifestOf([{ name: "items", schema, tags, columns: { id: "integer" } }]));
  const routes = join(folder, "routes");
  const file = readdirSync(routes, { recursive: true, encoding: "utf8" }).find((name) =>
    name.endsWith(".ts"),
  );
  const module = readFileSync(join(routes, file ?? ""), "utf8");
  const reviewed =
    module.replace("export const { spec, get } =", "const endpoint =") +
    `export const { spec } = endpoint;
     export const get = (request, response, next) => {
       response.setHeader("X-Reviewed", "yes");
       return endpoint.get(request, response, next);
     };`;
  expect(reviewed).toContain("const endpoint =");
  writeFileSync(join(routes, file ?? ""), reviewed);
  const { url } = await startFolder(folder, {}, { allowEdited: true });
  const { status, headers, text } = await sendRequest(url, "/v1/shop/items");
  expect([status, headers["x-reviewed"], text]).toEqual([200, "yes", '[{"id":1}]']);
});
