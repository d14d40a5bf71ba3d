/** Sets of endpoints without pages. */
import { expect, it } from "vitest";
import { ownSchema } from "../../support/database.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { serveManifest } from "../../support/service.js";

const schema = await ownSchema(
  "CREATE TABLE @.facts AS SELECT i AS id, 'group ' || i % 5 AS name FROM generate_series(1, 20) AS i",
);
const url = await serveManifest(
  manifestOf([
    {
      ...{ name: "sums", schema, alias: "facts", columns: { id: "integer", name: "text" } },
      api: { allow_unfiltered: true },
      routewright: { aggregate: { group_by: ["name"], measures: { total: { agg: "sum", column: "id" } } } },
    },
    {
      ...{ name: "facts", schema, columns: { id: "integer", name: "text" } },
      api: { allow_unfiltered: true, sort: [{ column: "id", direction: "ASC" }] },
    },
  ]),
);
const ask = (path: string, prefer = "") =>
  sendRequest(url, `/odata/${encodeURI(path)}`, { headers: { prefer } });
const rowsIn = (text: string) => (JSON.parse(text) as { value: readonly unknown[] }).value;

it("groups of an endpoint without pages are as many as asked, and come in pages of the size that a client prefers", async () => {
  const groups = "shop__sums?$apply=groupby((name),aggregate(total))&$orderby=total desc";
  const { text } = await ask(`${groups}&$top=2`);
  expect(rowsIn(text)).toEqual([
    { name: "group 0", total: 50 },
    { name: "group 4", total: 46 },
  ]);
  const page = await ask(groups, "odata.maxpagesize=3");
  expect([rowsIn(page.text).length, page.headers["preference-applied"]]).toEqual([3, "odata.maxpagesize=3"]);
  const { "@odata.nextLink": next } = JSON.parse(page.text) as { "@odata.nextLink": string };
  const rest = await sendRequest(url, next.slice(url.length), { headers: { prefer: "odata.maxpagesize=3" } });
  expect(rowsIn(rest.text).length).toBe(2);
});

it("rows of an endpoint without pages come at once, which does not apply a preferred size", async () => {
  const all = await ask("shop__facts", "odata.maxpagesize=3");
  expect([rowsIn(all.text).length, all.headers["preference-applied"]]).toEqual([20, undefined]);
  const some = await ask("shop__facts?$top=2", "odata.maxpagesize=3");
  expect([rowsIn(some.text).length, some.headers["preference-applied"]]).toEqual([2, "odata.maxpagesize=3"]);
});
