import express from "express";
import { createServer } from "node:http";
import { pino } from "pino";
import { expect, it } from "vitest";
import type { OpenEngine } from "../../../runtime/core/warehouse/base-engine.js";
import { openGateway, withGateway } from "../../../runtime/index.js";
import { evaluateModule } from "../../../runtime/server/release/generated-folder.js";
import { readGeneratedRelease } from "../../../runtime/server/release/release.js";
import { atEnd } from "../../support/at-end.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { openMemory } from "../../support/memory-engine.js";
import { listen } from "../../support/port.js";
import { generateInto, ownFolder } from "../../support/service.js";

const tables = {
  "shop.orders": {
    columns: { id: "integer", item: "text" },
    rows: ["pear", "plum", "apple"].map((item, i) => ({ id: i + 1, item })),
  },
  "shop.long": {
    columns: { id: "integer", item: "text" },
    rows: Array.from({ length: 4 }, (_, i) => ({ id: i + 1, item: "x".repeat(1_500_000) })),
  },
} as const;

/** Serves generated endpoints from an engine that only this file and the gateway's option name. */
async function serveFromMemory(memory: OpenEngine): Promise<string> {
  const folder = ownFolder();
  generateInto(
    folder,
    manifestOf(
      ["orders", "long"].map((name) => ({
        name,
        schema: "shop",
        columns: { id: "bigint", item: "text" },
        api: {
          allow_unfiltered: true,
          pagination: { enabled: true, default_limit: 2, max_limit: 10, response: "envelope" },
          sort: [{ column: "id", direction: "ASC" }],
          parameters: [{ name: "id", column: "id", operator: "=", type: "string" }],
        },
        routewright: { filters: ["item"] },
      })),
    ),
  );
  const { modules } = (await readGeneratedRelease({ generated: folder })).release;
  const log = pino({ level: "silent" });
  const gateway = openGateway({ databaseUrl: "memory://", engines: { memory }, log });
  atEnd(() => gateway.close());
  const app = express();
  app.use(withGateway(gateway));
  for (const { spec, get } of modules.map(evaluateModule))
    app.get(spec.path, (request, response, next) => get(request as never, response as never, next));
  return `http://${await listen(createServer(app))}`;
}

const url = await serveFromMemory(openMemory(tables));

it.each([
  ["", 200, { items: [{ id: 1 }, { id: 2 }], pagination: { limit: 2, has_more: true } }],
  ["?offset=2", 200, { items: [{ id: 3, item: "apple" }], pagination: { has_more: false } }],
  ["?item[gt]=pear", 200, { items: [{ item: "plum" }] }],
  ["?id=x", 400, { detail: "Parameter 'id' must be an integer." }],
])("an engine that the gateway is given serves a generated endpoint: %s", async (query, status, body) => {
  const reply = await sendRequest(url, `/v1/shop/orders${query}`);
  expect([reply.status, JSON.parse(reply.text)]).toMatchObject([status, body]);
});

it("a page that is a stream links to the next one", async () => {
  expect((await sendRequest(url, "/v1/shop/long")).headers["link"]).toContain("offset=2");
});

it("an address of another scheme has no engine", () => {
  expect(() => openGateway({ databaseUrl: "mysql://127.0.0.1/shop" })).toThrow(
    "No engine serves addresses of the scheme mysql:.",
  );
});
