import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ownSchema } from "../support/database.js";
import { KEYS, startManifest } from "../support/service.js";
import { changesBetween } from "./catalogues.js";
import { evolution, manifestWith, nodeOf, type RandomModel, requestsOf } from "./random-catalogue.js";

const SEED = 20_300_131;
const CATALOGUES = 1_000;
const REQUESTS_EACH = 4;
/** Endpoints that one pair of servers serves. */
const BATCH = 250;

const schema = await ownSchema(`
  CREATE TABLE @.facts (id smallint, shop varchar(40), code varchar(10), day date, amount numeric(20,2), flag boolean);
  INSERT INTO @.facts
    SELECT i, 'shop ' || i % 5, 'c' || i % 3, date '2026-01-01' + i % 40, i + 0.25, i % 2 = 0 FROM generate_series(1, 60) i;
`);

const evolutions = fc.sample(evolution, { numRuns: CATALOGUES, seed: SEED });
const manifestOf = (model: RandomModel, resource = "facts"): unknown =>
  manifestWith([nodeOf(resource, model, [schema, "facts"])]);

/** Pairs all of whose changes are compatible, if there are any. */
const compatible = evolutions.filter(([base, head]) => {
  const changes = changesBetween(manifestOf(base), manifestOf(head));
  return changes.length > 0 && changes.every(({ severity }) => severity === "compatible");
});

it("finds no change between a catalogue and itself", () => {
  for (const [base] of evolutions)
    expect(changesBetween(manifestOf(base), structuredClone(manifestOf(base)))).toEqual([]);
});

it("draws enough compatible changes for the next test to mean something", () => {
  const kinds = compatible.flatMap(([base, head]) =>
    changesBetween(manifestOf(base), manifestOf(head)).map(({ kind }) => kind),
  );
  expect(compatible.length).toBeGreaterThan(200);
  expect(new Set(kinds).size).toBeGreaterThan(8);
});

type Rows = readonly Readonly<Record<string, unknown>>[];

interface Answer {
  readonly status: number;
  readonly rows: Rows;
}

async function ask(
  url: string,
  resource: string,
  fields: Readonly<Record<string, string>>,
  post: boolean,
): Promise<Answer> {
  const path = `${url}/v1/random/${resource}`;
  const headers = { "x-api-key": KEYS.tier3 };
  const response = post
    ? await fetch(path, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify(fields),
      })
    : await fetch(`${path}?${new URLSearchParams(fields).toString()}`, { headers });
  const body = (await response.json()) as Rows | { readonly items: Rows };
  if (response.status !== 200) return { status: response.status, rows: [] };
  return { status: 200, rows: "items" in body ? body.items : body };
}

/** The rows by what the base documents, in any order. */
function seenBy(base: RandomModel, rows: Rows): readonly string[] {
  const names = base.columns.map(({ name }) => name);
  return rows.map((row) => JSON.stringify(names.map((name) => row[name]))).sort();
}

describe("a request that worked before a compatible change", () => {
  const batches = Array.from({ length: Math.ceil(compatible.length / BATCH) }, (_, i) => i);

  it.each(batches)("works after it, with the same rows: batch %i", { timeout: 300_000 }, async (batch) => {
    const pairs = compatible.slice(batch * BATCH, (batch + 1) * BATCH);
    const serve = (side: 0 | 1) =>
      startManifest(
        manifestWith(pairs.map((pair, i) => nodeOf(`m${String(i)}`, pair[side], [schema, "facts"]))),
      );
    const [before, after] = [await serve(0), await serve(1)];
    let worked = 0;
    for (const [i, [base, head]] of pairs.entries()) {
      const resource = `m${String(i)}`;
      for (const fields of fc.sample(requestsOf(base), { numRuns: REQUESTS_EACH, seed: SEED + i })) {
        const post = base.post && Object.keys(fields).length % 2 === 0;
        const was = await ask(before.url, resource, fields, post);
        if (was.status !== 200) continue;
        worked++;
        const is = await ask(after.url, resource, fields, post);
        const request = JSON.stringify({ fields, post, base, head });
        expect(is.status, request).toBe(200);
        expect(is.rows.length, request).toBe(was.rows.length);
        // Where only a part is answered, rows that tie may change places with rows outside of it.
        if (base.pages === null) expect(seenBy(base, is.rows), request).toEqual(seenBy(base, was.rows));
      }
    }
    expect(worked).toBeGreaterThan(pairs.length);
  });
});
