import { expect, it } from "vitest";
import { type Calls, diffByUsage, hits, orders, recordedIn, ROUTE, withoutSymbol } from "./recorded-usage.js";

it("names the shapes that a change breaks, and calls none unused while a request has no shape", async () => {
  const shapes = (...all: readonly (readonly [string, number])[]) => new Map(all);
  const SYMBOL = "GET json tier1 limit&symbol";
  const DAY = "GET csv tier0 day";
  const calls = (requests: number): readonly Calls[] => [
    { route: ROUTE, key: "aaaa", org: "Acme", requests: 40, shapes: shapes([SYMBOL, 40]) },
    { route: ROUTE, key: "bbbb", org: "Bits", requests, shapes: shapes([DAY, 50]) },
  ];
  const { changes, text } = await diffByUsage([withoutSymbol], await recordedIn(calls(50)));
  expect(changes[0]?.usage).toMatchObject({
    state: "used",
    keys: ["aaaa"],
    requests: 40,
    rest: 0,
    shapes: [{ route: ROUTE, shape: SYMBOL, requests: 40 }],
  });
  expect(text).toContain(`shapes: "${SYMBOL} (40)"`);
  const others = { ...orders, routewright: { fields: true, former_paths: [{ path: "/v1/shop/old" }] } };
  expect(hits(await diffByUsage([others], await recordedIn(calls(50))))).toEqual([
    "filter-removed: unused 0",
  ]);
  expect(hits(await diffByUsage([others], await recordedIn(calls(51))))).toEqual([
    "filter-removed: unknown 0",
  ]);
});

it("says of each shape whether it breaks, is answered otherwise or neither, with callers and requests", async () => {
  const [BROKEN, CHANGED, OTHER] = ["GET json tier1 limit&symbol", "GET json tier0", "GET json tier0 limit"];
  const shapes = new Map([
    [BROKEN, 40],
    [CHANGED, 30],
    [OTHER, 20],
  ]);
  const url = await recordedIn([{ route: ROUTE, key: "aaaa", org: "Acme", requests: 95, shapes }]);
  const api = {
    ...(withoutSymbol.api as object),
    pagination: { enabled: true, default_limit: 20, max_limit: 100 },
  };
  const { usage, text, markdown } = await diffByUsage([{ ...withoutSymbol, api }], url);
  const judged = (shape: string, outcome: string, requests: number, changes: readonly string[]) => ({
    ...{ route: ROUTE, shape, outcome, requests, changes, keys: ["aaaa"], organizations: ["Acme"] },
    lastSeen: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}Z$/),
  });
  expect(usage).toEqual({
    ...{ days: 30, recordedDays: 30, rest: 5 },
    shapes: [
      judged(BROKEN, "broken", 40, ["parameter-removed symbol"]),
      judged(CHANGED, "changed", 30, ["default-limit-raised"]),
      judged(OTHER, "unaffected", 20, []),
    ],
  });
  expect(text).toMatch(
    /^broken +shape {2}\/v1\/shop\/orders {2}GET json tier1 limit&symbol\n +40 requests of 1 key \("aaaa"\) of 1 organization \("Acme"\), the last at "[^"]+"\.\n +By "parameter-removed symbol"\.\nchanged +shape /m,
  );
  expect(text).toContain(
    "1 broken (40 requests), 1 changed (30 requests), 1 unaffected (20 requests); 5 requests without a shape.",
  );
  expect(markdown).toContain("#### Recorded requests (2)");
  expect(markdown).toContain(`\`${BROKEN}\``);
  expect(markdown).toContain("40 requests of 1 key (`aaaa`) of 1 organization (`Acme`)");
  expect(`${text}${markdown}`).not.toContain(`${OTHER}\``);
});

it("says of a change that it breaks no recorded shape, which is rated as one that hits nobody", async () => {
  const shapes = new Map([["GET json tier1 limit", 10]]);
  const url = await recordedIn([{ route: ROUTE, key: "aaaa", org: "Acme", requests: 10, shapes }]);
  const { exit, changes, text } = await diffByUsage([withoutSymbol], url, { diff: { unused: "warning" } });
  expect([exit, hits({ changes })]).toEqual([0, ["parameter-removed: unused 0"]]);
  expect(text).toContain("Hits nobody: it breaks no recorded shape of the last 30 days.");
});
