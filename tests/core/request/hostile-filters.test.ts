/** What a text of `filter` costs until it is refused, in processor time. */
import { expect, it } from "vitest";
import { isHttpError } from "../../../runtime/core/model/errors.js";
import { FILTER_LIMITS } from "../../../runtime/core/model/limits.js";
import { readFilter } from "../../../runtime/filter/filter.js";
import { leastUntilBelow, processorCost } from "../../support/processor-time.js";

const KINDS = ["text", "integer", "number", "date", "date-time", "boolean", "uuid"] as const;
const filters = Array.from({ length: 42 }, (_, i) => ({
  column: `c${String(i)}`,
  type: KINDS[i % 7] ?? "text",
}));
const scope = { filters, timezoneOf: () => undefined };

const filled = (text: string, bytes: number = FILTER_LIMITS.bytes - 200): string =>
  text.repeat(Math.floor(bytes / Buffer.byteLength(text)));

const TEXTS: Readonly<Record<string, string>> = {
  "opened groups": filled("("),
  "groups to the limit, never closed": "(".repeat(15) + filled("c1 eq 1 and "),
  "groups to the limit, one left open": `${"(".repeat(15)}c1 eq 1${")".repeat(14)} or ${filled("c1 eq 1 and ")}`,
  negations: filled("not "),
  "negated groups": filled("not ("),
  "conditions without an end": filled("c1 eq 1 or "),
  "groups without an end": filled("(c1 eq 1) or "),
  "negated groups without an end": filled("not (c0 eq 'x') and "),
  "good conditions, and a bad one": `${filled("c1 eq 1 or ")}c1 eq 'x'`,
  "good conditions, and an unknown column": `${filled("year(c3) eq 1 or ")}x`,
  "unknown columns": `${filled("zz eq 1 or ")}zz eq 1`,
  quotes: filled("'"),
  "a text without an end": `c0 eq '${filled("a")}`,
  "a name without an end": `"${filled("a")}`,
  "empty names": filled('""'),
  "a long name": filled("a"),
  letters: filled("中"),
  spaces: `c1${filled(" ")}eq`,
  "a list without an end": `c1 in (${filled("1,")}`,
  "lists without an end": filled("c1 in (1"),
  "too many values": `c1 in (${"1,".repeat(FILTER_LIMITS.values)}1)`,
  functions: filled("contains("),
  "functions of functions": filled("date(year("),
  "months without an end": `month(c3) in (${filled("1,")}`,
  "a broken date": `c3 eq ${filled("2026-01-01")}`,
  "broken offsets": filled("2026-01-01T00:00+"),
  "a broken UUID": `c6 eq ${filled("a0eebc99-")}`,
  "an exponent of many digits": `c1 eq 1e${filled("9")}`,
  surrogates: filled("\ud800"),
  "too many bytes": "x".repeat(1_000_000),
};

/** Half of parsing 1 MiB of JSON. */
const MOST_TIMES = 0.5;

it("is less than half of parsing 1 MiB of JSON", async () => {
  const costly: string[] = [];
  for (const [name, text] of Object.entries(TEXTS)) {
    const found = readFilter(text, scope);
    expect([name, isHttpError(found) ? found.status : 200]).toEqual([name, 400]);
    const times = await leastUntilBelow(MOST_TIMES, () => processorCost(() => readFilter(text, scope)));
    if (times >= MOST_TIMES) costly.push(`${name}: ${times.toFixed(2)}`);
  }
  expect(costly).toEqual([]);
});
