import { expect, it } from "vitest";
import { ask, serveOrders, url } from "./orders-by-odata.js";

await serveOrders();

const fileOf = (ending: string, path: string) =>
  ask(`/connection.${ending}?path=${encodeURIComponent(path)}`.replaceAll("%2F", "/"), {});

it("a .pbids file has the address of the set, which answers", async () => {
  const reply = await fileOf("pbids", "/v1/shop/orders/daily");
  expect(reply.headers["content-disposition"]).toBe("attachment; filename*=UTF-8''shop__orders__daily.pbids");
  const { version, connections } = JSON.parse(reply.text) as {
    version: string;
    connections: { details: { protocol: string; address: { url: string } } }[];
  };
  const { protocol, address } = connections[0]?.details ?? { protocol: "", address: { url: "" } };
  expect([version, protocol, address.url]).toEqual(["0.1", "odata", `${url}/odata/shop__orders__daily`]);
  expect((await ask(address.url.slice(`${url}/odata`.length))).status).toBe(200);
});

it("an .odc file has a query of Power Query with it", async () => {
  const reply = await fileOf("odc", "/v1/shop/orders");
  expect(reply.headers["content-type"]).toContain("text/x-ms-odc");
  const mashup = /<odc:PowerQueryMashupData>(.*)<\/odc:PowerQueryMashupData>/.exec(reply.text)?.[1] ?? "";
  const plain = (text: string) =>
    text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&amp;", "&");
  const formula = /<Formula>(.*)<\/Formula>/.exec(plain(mashup))?.[1] ?? "";
  expect(plain(formula)).toBe(
    `let Source = OData.Feed("${url}/odata/shop__orders", null, [Implementation = "2.0"]) in Source`,
  );
  expect(reply.text).toContain("Location=shop__orders;");
});

it("no text of a caller leaves its place in them", async () => {
  for (const ending of ["odc", "pbids"]) {
    const { text, status } = await fileOf(ending, '/v1/a"<b>]]/c;d\\');
    expect(status).toBe(200);
    expect(text).not.toMatch(/a"<b>|c;d/);
    for (const path of ["", "/v1/shop", "https://evil.example/v1/a/b", "/v2/a/b", `/v1/a/${"x".repeat(300)}`])
      expect([path, (await fileOf(ending, path)).status]).toEqual([path, 400]);
  }
});
