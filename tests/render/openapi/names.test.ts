import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { operationIdOf, rowNameOf } from "../../../generator/render/openapi/names.js";

/** Few characters, so that two paths are often nearly alike; half of them those that names are made of. */
const tail = fc.oneof(
  fc.string({ unit: fc.constantFrom("a", "b", "_", "-", "/", ".", "x"), minLength: 1, maxLength: 8 }),
  fc
    .array(fc.constantFrom("a", "last", "7d", "daily", "_", "__", "/", "___", "s", "u"), { minLength: 1 })
    .map((it) => it.join("")),
  fc.string({ unit: fc.constantFrom("a", "Z", "0", "_", ".", "-", "/"), minLength: 1 }),
);
const path = tail.map((text) => `/v1/${text}`);

describe("names of operations", () => {
  it.each([
    ["/v1/bridges/volume/last_7d", "get_bridges_volume_last_7d"],
    ["/v1/bridges/netflow_per_token/daily", "get_bridges_netflow_per_token_daily"],
    ["/v1/bridges/volume", "get_bridges_volume"],
    ["/v1/quarterly_data/fees/quarterly", "get_quarterly_data__fees__quarterly"],
    ["/v1/bridges/volume/last_7d/7d", "get_bridges__volume__last_7d__7d"],
    ["/v1/bridges/volume_daily", "get_bridges__volume_daily"],
    ["/v1/esg/co2-total/daily", "get_esg_co2_total_daily___sds"],
  ])("names %s %s", (from, name) => {
    expect(operationIdOf("GET", from)).toBe(name);
  });

  it("distinguishes the methods of a path", () => {
    expect(operationIdOf("POST", "/v1/bridges/volume/daily")).toBe("post_bridges_volume_daily");
  });

  it("gives two paths two names", () => {
    const near = fc.tuple(path, path).filter(([a, b]) => a !== b);
    fc.assert(
      fc.property(near, ([a, b]) => {
        expect(operationIdOf("GET", a)).not.toBe(operationIdOf("GET", b));
        expect(rowNameOf(a)).not.toBe(rowNameOf(b));
      }),
      { numRuns: 5_000 },
    );
  });

  it("gives all the paths over a small alphabet names of their own", () => {
    const paths = words(["a", "_", "-", "/", ".", "daily"], 6).map((word) => `/v1/${word}`);
    expect(new Set(paths.map(rowNameOf)).size).toBe(paths.length);
  });

  it("uses only characters that identifiers and component names may have", () => {
    fc.assert(
      fc.property(path, (from) => {
        expect(operationIdOf("GET", from)).toMatch(/^[a-z][A-Za-z0-9_]*$/);
        expect(rowNameOf(from)).toMatch(/^[A-Za-z0-9_]+$/);
      }),
    );
  });

  it("takes time in proportion to the length of a path", () => {
    const long = `/v1/a/${"last_".repeat(200_000)}-`;
    expect(operationIdOf("GET", long).length).toBeGreaterThan(long.length);
  });
});

/** Every text of up to `length` of these parts. */
function words(parts: readonly string[], length: number): readonly string[] {
  if (length === 0) return [];
  return [...parts, ...words(parts, length - 1).flatMap((word) => parts.map((part) => word + part))];
}
