import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { cacheBytes, CACHES, type CacheName } from "../../../runtime/core/http/bounded-cache.js";
import type { Column } from "../../../runtime/core/model/endpoint.js";
import { Projection } from "../../../runtime/core/model/projection.js";
import type { Condition, Selection } from "../../../runtime/core/model/query.js";
import { chooseColumns } from "../../../runtime/core/request/resolve-query.js";
import { servedOf } from "../../../runtime/core/warehouse/served-columns.js";
import { preparedOf } from "../../../runtime/postgres/prepared-columns.js";
import { selectRows } from "../../../runtime/postgres/select.js";
import type { ResultColumns } from "../../../runtime/core/warehouse/warehouse.js";

const MB = 1024 * 1024;
const TYPES = [
  { type: "int4", oid: 23 },
  { type: "text", oid: 25 },
  { type: "timestamptz", oid: 1184 },
] as const;

const existing: ResultColumns = Array.from({ length: 50 }, (_, i) => ({
  name: `column_${String(i)}`,
  ...(TYPES[i % TYPES.length] ?? TYPES[0]),
}));
const declared: readonly Column[] = existing.map(({ name, type }) => ({ name, type }));

it("keeps statements of whatever filters, sort and columns callers choose within one limit in bytes", () => {
  const endpoints = Array.from({ length: 5 }, () => new Projection(declared));
  const before = heap();
  for (const columns of endpoints)
    for (let form = 0; form < 300; form++)
      selectRows({ relation: ["a", "b"] }, existing, selectionOf(columns, form));
  expect(bytesOf("plans")).toBeGreaterThan(CACHES.plans.maxBytes * 0.9);
  expect(bytesOf("plans")).toBeLessThanOrEqual(CACHES.plans.maxBytes);
  expect(heap() - before).toBeLessThan(CACHES.plans.maxBytes + 2 * MB);
});

it("keeps what is made of the columns that callers choose within one limit in bytes", () => {
  const all = new Projection(declared);
  const before = heap();
  for (let choice = 0; choice < 400; choice++) {
    const names = declared.map(({ name }) => name);
    names.push(...names.splice(choice % 50, 1), ...names.splice((choice * 7) % 49, 1));
    const chosen = chooseColumns(all, names);
    const prepared = preparedOf(servedOf(existing, chosen ?? undefined));
    for (const format of ["json", "json-strings", "json-declared", "csv", "ndjson"] as const)
      prepared.layout(format);
  }
  expect(bytesOf("choices")).toBeGreaterThan(CACHES.choices.maxBytes * 0.9);
  expect(heap() - before).toBeLessThan(CACHES.choices.maxBytes + 2 * MB);
});

it("finds a choice of columns again, and none of a column that the endpoint does not have", () => {
  const [all, other] = [new Projection(declared), new Projection(declared)];
  const chosen = chooseColumns(all, ["column_2", "column_1", "column_2"]);
  expect(chosen?.columns.map(({ name }) => name)).toEqual(["column_2", "column_1"]);
  expect(chooseColumns(all, ["column_2", "column_1"])).toBe(chosen);
  expect(chooseColumns(all, ["column_1", "column_2"])).not.toBe(chosen);
  expect(chooseColumns(other, ["column_2", "column_1"])).not.toBe(chosen);
  expect(chooseColumns(all, ["constructor"])).toBeNull();
});

function selectionOf(columns: Projection, form: number): Selection {
  const conditions = Array.from({ length: 150 }, (_, i): Condition => {
    const name = `column_${String((i * (form + 1)) % 50)}`;
    const operator = (i + form) % 3 === 0 ? "lt" : "ne";
    return { name, column: name, operator, type: "value", value: "1" };
  });
  const sort = [[`column_${String(form % 50)}`, "ASC"]] as const;
  return { columns, conditions, sort, page: { limit: 1 + (form % 10), offset: form % 2, lookAhead: true } };
}

const bytesOf = (name: CacheName): number => new Map(cacheBytes("data")).get(name) ?? 0;

function heap(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
