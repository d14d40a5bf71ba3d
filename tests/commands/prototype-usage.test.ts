/** Names that every object of JavaScript has, in what `usage` counts and what `diff --usage` reads of it. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ownDatabase, queryAt } from "../support/database.js";
import { sendRequest } from "../support/http-client.js";
import { manifestOf, type TestModel } from "../support/manifest.js";
import { PROTOTYPE_NAMES } from "../support/prototype-names.js";
import { ownFolder, startManifest } from "../support/service.js";
import { routewright } from "./run.js";

const each = <Value>(value: (name: string) => Value): Record<string, Value> =>
  Object.fromEntries(PROTOTYPE_NAMES.map((name) => [name, value(name)]));

const modelOf = (name: string, columns: Record<string, string>): TestModel => ({
  name,
  schema: "shop",
  columns,
  api: { allow_unfiltered: true, pagination: { enabled: true, default_limit: 10, max_limit: 100 } },
  routewright: {
    fields: true,
    filters: Object.keys(columns),
    aggregate: {
      group_by: Object.keys(columns),
      measures: { total: { agg: "count" } },
    },
  },
});

it("usage counts them as routes, and in the shapes of requests; diff --usage says who is hit", async () => {
  const url = await ownDatabase();
  const columns = PROTOTYPE_NAMES.map((name) => `'x' AS "${name}"`).join(", ");
  const tables = PROTOTYPE_NAMES.map((name) => `CREATE TABLE shop."${name}" AS SELECT ${columns};`);
  await queryAt(url, `CREATE SCHEMA shop; ${tables.join("")}`);
  const manifest = manifestOf(
    PROTOTYPE_NAMES.map((name) =>
      modelOf(
        name,
        each(() => "text"),
      ),
    ),
  );
  const settings = { DATABASE_URL: url, USAGE_ENABLED: "true", USAGE_SHAPES: "true" };
  const service = await startManifest(manifest, settings);
  for (const name of PROTOTYPE_NAMES)
    for (const query of [`${name}[eq]=x&fields=${name}`, `group_by=${name}&measures=total`]) {
      const { status, text } = await sendRequest(service.url, `/v1/shop/${name}?${query}`);
      expect([name, query, status, text.slice(0, 200)]).toEqual([name, query, 200, expect.anything()]);
    }
  const folder = ownFolder();
  const usage = async (...args: readonly string[]): Promise<readonly Record<string, unknown>[]> => {
    const { exit, out, err } = await routewright(folder, ["usage", "--json", ...args], settings);
    expect({ exit, err }).toMatchObject({ exit: 0 });
    return JSON.parse(out) as readonly Record<string, unknown>[];
  };
  // At its end a server writes what it has counted.
  await service.stop();
  const routes = await usage("--by", "route");
  expect(routes.map(({ route, requests }) => [route, requests]).sort()).toEqual(
    PROTOTYPE_NAMES.map((name) => [`/v1/shop/${name}`, 2]).sort(),
  );
  const all = await usage("--by", "all");
  writeFileSync(join(folder, "usage.json"), JSON.stringify(all));
  for (const name of PROTOTYPE_NAMES)
    for (const parameter of [`${name}[eq]`, `fields=${name}`, `group_by=${name}`])
      expect(all).toContainEqual(
        expect.objectContaining({ route: `/v1/shop/${name}`, parameter, requests: 1 }),
      );
  const table = await routewright(folder, ["usage", "--by", "route"], settings);
  expect(table.out.trimEnd().split("\n")).toHaveLength(PROTOTYPE_NAMES.length + 1);

  const fewer = manifestOf(
    PROTOTYPE_NAMES.map((name) =>
      modelOf(
        name,
        Object.fromEntries(Object.entries(each(() => "text")).filter(([column]) => column !== name)),
      ),
    ),
  );
  writeFileSync(join(folder, "base.json"), JSON.stringify(manifest));
  writeFileSync(join(folder, "head.json"), JSON.stringify(fewer));
  const { exit, out } = await routewright(
    folder,
    ["diff", "base.json", "head.json", "--usage", "usage.json", "--format", "json"],
    settings,
  );
  expect(exit).toBe(1);
  const { changes } = JSON.parse(out) as { changes: readonly Record<string, unknown>[] };
  for (const name of PROTOTYPE_NAMES) {
    const removed = changes.find(({ kind, subject }) => kind === "column-removed" && subject === name);
    expect([name, removed]).toEqual([name, expect.objectContaining({ endpoint: `/v1/shop/${name}` })]);
  }
});
