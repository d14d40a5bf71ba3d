import { describe, expect, it } from "vitest";
import { ownSchema } from "../../support/database.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { serveManifest } from "../../support/service.js";

const BLANKS = 300_000;
const schema = await ownSchema(
  `CREATE TABLE @.wide AS SELECT 1 AS id, repeat(' ', ${String(BLANKS)}) || 'x' AS note`,
);
const url = await serveManifest(
  manifestOf([
    {
      ...{ name: "wide", schema, key: "id", columns: { id: "integer", note: "text" } },
      description: "d".repeat(600_000),
      api: {
        allow_unfiltered: true,
        sort: [{ column: "id", direction: "ASC" }],
        pagination: { enabled: true, default_limit: 2, max_limit: 3 },
      },
      routewright: { cursor: true, filters: ["id"] },
    },
  ]),
);

describe("what a request holds", () => {
  it("is one row in no time, whatever blanks are in it", async () => {
    const start = performance.now();
    const { text } = await sendRequest(url, "/odata/shop__wide(1)");
    expect((JSON.parse(text) as { note: string }).note).toHaveLength(BLANKS + 1);
    // Minutes where each blank is the start of a search for the end.
    expect(performance.now() - start).toBeLessThan(60_000);
  });

  it("of a batch is 8 MiB, of documents too", async () => {
    const requests = Array.from({ length: 20 }, (_, i) => ({
      ...{ id: String(i), method: "GET", url: "$metadata" },
    }));
    const { text } = await sendRequest(url, "/odata/$batch", {
      method: "POST",
      body: { requests },
      headers: { "content-type": "application/json", prefer: "continue-on-error" },
    });
    expect(text.length).toBeLessThan(9 * 1024 * 1024);
    const statuses = (JSON.parse(text) as { responses: { status: number }[] }).responses.map(
      ({ status }) => status,
    );
    expect([statuses[0], statuses.at(-1)]).toEqual([200, 501]);
  });
});
