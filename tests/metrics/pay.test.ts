import { describe, expect, it } from "vitest";
import { generateInto, KEYS, ownFolder, startFolder } from "../support/service.js";
import { inPay, payDatabase, payNames, payServing } from "./pay-tables.js";

interface Expected {
  readonly id: string;
  readonly needs: readonly string[];
  readonly path: string;
  readonly query: string;
  readonly ordered: boolean;
  readonly columns: readonly { readonly key: string; readonly kind: string; readonly type: string }[];
  readonly rows?: readonly (readonly (string | null)[])[];
  readonly status?: readonly number[];
}

/** Requests with the answers of MetricFlow 0.213 on PostgreSQL 15. */
const { queries } = JSON.parse(inPay("queries.json")) as { readonly queries: readonly Expected[] };

/** dbt 1.12 does not write `fill_nulls_with` in the newer spec. */
const NEEDS_FILL = "fill_nulls_with";

/** Digits as they were sent: `JSON.parse` would round them. */
function rowsOf(text: string): readonly Readonly<Record<string, string | null>>[] {
  const quoted = text.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) =>
    token.startsWith('"') ? token : `"${token}"`,
  );
  return JSON.parse(quoted) as readonly Readonly<Record<string, string | null>>[];
}

function isSame(got: string | null | undefined, wanted: string | null, type: string): boolean {
  if (got === undefined || got === null || wanted === null) return (got ?? null) === wanted;
  if (type !== "double" && type !== "quotient") return trimmed(got) === trimmed(wanted);
  return Math.abs(Number(got) - Number(wanted)) <= 1e-9 * Math.max(1, Math.abs(Number(wanted)));
}

/** Without the zeros behind the point. */
const trimmed = (text: string): string => (/^-?\d+\.\d+$/.test(text) ? text.replace(/\.?0+$/, "") : text);

const byGroups = (a: readonly unknown[], b: readonly unknown[]): number =>
  JSON.stringify(a) < JSON.stringify(b) ? -1 : 1;

/** A zone is the database's, a manifest the generator's: each of one with one of the other. */
const cases = [];
for (const [manifest, zone] of [
  ["manifest.json", "America/New_York"],
  ["manifest-newer-spec.json", "UTC"],
] as const) {
  const folder = ownFolder();
  const text = inPay(manifest);
  const asked = payNames(
    text,
    queries.map(({ path }) => path),
  );
  generateInto(folder, payServing(text, asked));
  const { url } = await startFolder(folder, { DATABASE_URL: await payDatabase(zone) });
  cases.push({ manifest, zone, url });
}

describe.each(cases)("the metrics of $manifest in a database of $zone", ({ manifest, url }) => {
  const known = queries.filter(({ needs }) => manifest === "manifest.json" || !needs.includes(NEEDS_FILL));
  it.each(known)(
    "$id: $path?$query",
    async ({ path, query: asked, columns, ordered, rows = [], status = [200] }) => {
      const response = await fetch(`${url}${path}?${asked}`, { headers: { "X-API-Key": KEYS.tier0 } });
      const text = await response.text();
      expect([status, text]).toEqual([expect.arrayContaining([response.status]), text]);
      if (response.status !== 200) return;
      const groups = columns.filter(({ kind }) => kind === "group").length;
      const sorted = (all: readonly (readonly (string | null | undefined)[])[]) =>
        ordered ? all : all.toSorted((a, b) => byGroups(a.slice(0, groups), b.slice(0, groups)));
      const got = sorted(rowsOf(text).map((row) => columns.map(({ key }) => row[key])));
      const wanted = sorted(rows);
      expect(got.length).toBe(wanted.length);
      const differing = got.filter(
        (row, i) => !row.every((value, k) => isSame(value, wanted[i]?.[k] ?? null, columns[k]?.type ?? "")),
      );
      expect(differing).toEqual([]);
    },
  );
});
