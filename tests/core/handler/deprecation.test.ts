import { describe, expect, it } from "vitest";
import { ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { serveManifest } from "../../support/service.js";

const schema = await ownSchema(
  "CREATE TABLE @.flows_v1 AS SELECT 1::bigint AS n; CREATE TABLE @.flows_v2 AS SELECT 2::bigint AS n",
);

/** A model in two versions, of which the first will go, and one without versions. */
const MANIFEST = manifestOf([]) as { nodes: Record<string, unknown> };
const version = (number: number, resource: string, more: object = {}): object => ({
  resource_type: "model",
  name: "flows",
  alias: `flows_v${number}`,
  schema,
  version: number,
  latest_version: 2,
  tags: ["production", `api:${resource}`],
  columns: { n: { name: "n", data_type: "bigint" } },
  ...more,
});
MANIFEST.nodes = {
  "model.test.flows.v1": version(1, "flows", { deprecation_date: "2031-06-30T02:00:00+02:00" }),
  "model.test.flows.v2": version(2, "flows_v2"),
};
const url = await serveManifest(MANIFEST);

interface Document {
  readonly paths: Record<string, { get: object }>;
}

describe("an endpoint whose model has a deprecation date and a newer version", () => {
  it("names its sunset and its successor in headers", async () => {
    const { status, headers } = await fetch(`${url}/v1/general/flows`);
    expect(status).toBe(200);
    expect(headers.get("deprecation")).toBe(`@${Date.parse("2031-06-30T00:00:00Z") / 1000}`);
    expect(headers.get("sunset")).toBe("Mon, 30 Jun 2031 00:00:00 GMT");
    expect(headers.get("link")).toBe('</v1/general/flows_v2>; rel="successor-version"');
    expect(headers.get("access-control-expose-headers")).toMatch(/Deprecation, Sunset, Link/);
  });

  it("is deprecated in OpenAPI", async () => {
    const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as Document;
    expect(paths["/v1/general/flows"]?.get).toMatchObject({
      deprecated: true,
      description: expect.stringMatching(
        /may be removed from 2031-06-30T00:00:00Z on.*`\/v1\/general\/flows_v2`/s,
      ),
    });
  });
});

it("the latest version says nothing of the kind", async () => {
  const { headers } = await fetch(`${url}/v1/general/flows_v2`);
  for (const name of ["deprecation", "sunset", "link"]) expect(headers.get(name)).toBeNull();
  const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as Document;
  expect(paths["/v1/general/flows_v2"]?.get).not.toHaveProperty("deprecated");
});
