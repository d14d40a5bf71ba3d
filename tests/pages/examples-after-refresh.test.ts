/** What documents show of rows that were read for an earlier release. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { workerRenderer } from "../../generator/watch/worker-renderer.js";
import { ownSchema } from "../support/database.js";
import { sendRequest } from "../support/http-client.js";
import { manifestOf } from "../support/manifest.js";
import { generateInto, KEYS, ownFolder, startFolder } from "../support/service.js";

const schema = await ownSchema(`
  CREATE TABLE @.people AS SELECT 'Secretville' AS city, 'public text' AS note;
  CREATE TABLE @.sums AS SELECT date '2025-03-04' AS day, 987654321 AS amount`);

const OPEN = { allow_unfiltered: true };
const PEOPLE = { name: "people", schema, columns: { city: "text", note: "text" }, api: OPEN };
const SUMS = {
  ...{ name: "sums", schema, columns: { day: "date", amount: "int" } },
  api: { ...OPEN, sort: [{ column: "day", direction: "DESC" }] },
};

/** Marks a column of each model as private data. */
function marked(models: readonly Parameters<typeof manifestOf>[0][number][]): unknown {
  const manifest = manifestOf(models) as { nodes: Record<string, { columns: Record<string, object> }> };
  for (const { columns } of Object.values(manifest.nodes))
    for (const name of ["city", "amount"])
      if (columns[name]) columns[name] = { ...columns[name], config: { meta: { pii: true } } };
  return manifest;
}

const PATHS = ["/openapi.json", "/v1/system/catalogue", "/explore/figures.json"];

async function serve() {
  const folder = ownFolder();
  const first = manifestOf([PEOPLE, SUMS]);
  generateInto(folder, first);
  const manifest = join(ownFolder(), "manifest.json");
  writeFileSync(manifest, JSON.stringify(first));
  const renderer = workerRenderer({
    manifest,
    title: null,
    generated: folder,
    allowEdited: false,
    guard: null,
  });
  const service = await startFolder(folder, {}, { renderer });
  const documents = () =>
    Promise.all(PATHS.map(async (path) => (await sendRequest(service.url, path, { key: KEYS.tier3 })).text));
  const shown = async (text: string) => (await documents()).map((document) => document.includes(text));
  const publish = async (next: unknown) => {
    writeFileSync(manifest, JSON.stringify(next));
    expect((await service.refresh()).status).not.toBe("error");
  };
  // The first that asks waits for two seconds at most.
  await expect.poll(() => shown("Secretville")).toEqual([true, true, false]);
  await expect.poll(() => shown("987654321")).toEqual([true, true, true]);
  return { shown, publish };
}

it("no value of a column that is private data since the refresh, though nothing else has changed", async () => {
  const { shown, publish } = await serve();
  await publish(marked([PEOPLE, SUMS]));
  expect(await shown("Secretville")).toEqual([false, false, false]);
  expect(await shown("987654321")).toEqual([false, false, false]);
  await expect.poll(() => shown("public text")).toEqual([true, true, false]);
});

it("no row of an endpoint that needs a key since the refresh, or has own rows", async () => {
  const { shown, publish } = await serve();
  const owned = { ...PEOPLE, routewright: { rows: { column: "city", equals: "org" } } };
  await publish(manifestOf([owned, { ...SUMS, tags: ["production", "shop", "tier1", "api:sums"] }]));
  expect(await shown("Secretville")).toEqual([false, false, false]);
  expect(await shown("987654321")).toEqual([false, false, false]);
});
