import { expect, it } from "vitest";
import { starterManifest } from "../../end-to-end/starter.js";
import { KEYS, serveManifest } from "../../support/service.js";
import { sendRequest, post } from "../../support/http-client.js";

interface Operation {
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly schema?: { default?: unknown };
  }[];
  readonly requestBody?: {
    readonly content: {
      "application/json": { schema: { properties?: Record<string, { default?: unknown }> } };
    };
  };
}

it("every endpoint of the starter takes its own documented defaults", async () => {
  const url = await serveManifest(starterManifest());
  const { paths } = JSON.parse((await sendRequest(url, "/openapi.json")).text) as {
    paths: Record<string, { get?: Operation; post?: Operation }>;
  };
  const key = KEYS.tier3;
  const failed: unknown[] = [];
  let defaults = 0;
  for (const [path, { get, post: posted }] of Object.entries(paths)) {
    if (!path.startsWith("/v1/") || path.startsWith("/v1/system/")) continue;
    const documented = (get?.parameters ?? []).filter(
      ({ in: place, schema }) => place === "query" && schema?.default !== undefined,
    );
    defaults += documented.length;
    const query = new URLSearchParams(
      Object.fromEntries(documented.map(({ name, schema }) => [name, String(schema?.default)])),
    ).toString();
    const { status, text } = await sendRequest(url, `${path}?${query}`, { key });
    // Required filters have no default: a client must choose.
    if (status !== 200 && !text.includes(" is required for this endpoint.")) failed.push([path, query, text]);
    const properties = posted?.requestBody?.content["application/json"].schema.properties ?? {};
    const body = Object.fromEntries(
      Object.entries(properties).flatMap(([name, schema]) =>
        schema.default === undefined ? [] : [[name, schema.default]],
      ),
    );
    if (!posted) continue;
    const reply = await post(url, path, body, { key });
    if (reply.status !== 200 && !reply.text.includes(" is required for this endpoint."))
      failed.push([path, body, reply.text]);
  }
  expect(failed).toEqual([]);
  expect(defaults).toBeGreaterThan(0);
});
