/** Walks through the pages of a set while rows come and go between them. */
import { expect, it } from "vitest";
import { byEngine, ownerQuery, ownTables } from "../../support/engines.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { KEYS, serveManifest } from "../../support/service.js";

/** Ids are 10, 20, …: others come between them. */
const ROWS = 400;
const schema = await ownTables({
  postgres: `CREATE TABLE @.events AS SELECT 10 * g AS id, 'x'::text AS name FROM generate_series(1, ${String(ROWS)}) g; ALTER TABLE @.events ADD PRIMARY KEY (id)`,
  clickhouse: [
    "CREATE TABLE @.events (id Int32, name String) ORDER BY id",
    `INSERT INTO @.events SELECT 10 * (number + 1), 'x' FROM numbers(${String(ROWS)})`,
  ],
});
const url = await serveManifest(
  manifestOf([
    {
      ...{ name: "events", schema, key: "id" },
      columns: byEngine({
        postgres: { id: "integer", name: "text" },
        clickhouse: { id: "Int32", name: "String" },
      }),
      api: {
        allow_unfiltered: true,
        pagination: { enabled: true, default_limit: 30, max_limit: 30 },
        sort: [{ column: "id", direction: "ASC" }],
        sortable_fields: ["id"],
      },
      routewright: { cursor: true },
    },
  ]),
);
const table = `"${schema}".events`;
const insert = (...ids: readonly number[]): Promise<unknown> =>
  ownerQuery(`INSERT INTO ${table} VALUES ${ids.map((id) => `(${String(id)}, 'x')`).join(", ")}`);
const remove = (...ids: readonly number[]): Promise<unknown> =>
  ownerQuery(`DELETE FROM ${table} WHERE id IN (${ids.join(", ")})`);

/** The ids of all pages; `between` changes rows after each page, whose last id it gets. */
async function walk(query: string, between: (last: number) => Promise<void>): Promise<readonly number[]> {
  const ids: number[] = [];
  let next: string | undefined = `${url}/odata/shop__events${query}`;
  while (next !== undefined) {
    const { status, text } = await sendRequest(url, next.slice(url.length), { key: KEYS.tier3 });
    expect([status, text]).toEqual([200, text]);
    const page = JSON.parse(text) as { value: { id: number }[]; "@odata.nextLink"?: string };
    ids.push(...page.value.map(({ id }) => id));
    next = page["@odata.nextLink"];
    await between(ids.at(-1) ?? 0);
  }
  return ids;
}

it.each([
  ["", 1],
  ["?$orderby=id%20desc", -1],
])("%s has each row that stays once, in order, and what comes ahead", async (query, sign) => {
  const [removed, ahead] = [new Set<number>(), new Set<number>()];
  let turn = 0;
  const ids = await walk(query, async (last) => {
    turn++;
    // Behind the page, and before the next one.
    await insert(last - sign * 3, last + sign * 4);
    if (last + sign * 300 > 0 && last + sign * 300 < 10 * ROWS) ahead.add(last + sign * 4);
    const gone = [last - sign * 20, last + sign * 50].filter((id) => id % 10 === 0 && id > 0);
    for (const id of gone) removed.add(id);
    if (gone.length > 0) await remove(...gone);
  });
  expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => sign * (a - b)));
  const kept = Array.from({ length: ROWS }, (_, i) => 10 * (i + 1)).filter((id) => !removed.has(id));
  expect(kept.filter((id) => !ids.includes(id))).toEqual([]);
  expect([...ahead].filter((id) => !ids.includes(id))).toEqual([]);
  expect(turn).toBeGreaterThan(10);
  await ownerQuery(`DELETE FROM ${table} WHERE id % 10 <> 0`);
  await insert(...removed);
});
