import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { generateInto, KEYS, startFolder } from "../support/service.js";
import { sendRequest } from "../support/http-client.js";
import { manifestOf, type TestModel } from "../support/manifest.js";
import { GENERATE, project, routewright } from "./run.js";

const sales = (columns: TestModel["columns"], more: Partial<TestModel> = {}): TestModel => ({
  name: "sales",
  columns: columns ?? {},
  ...more,
});
const HIDDEN = {
  name: "hidden",
  tags: ["production", "shop", "api:hidden", "tier2"],
  columns: { id: "integer" },
};

interface Read {
  readonly entries: readonly {
    readonly date: string;
    readonly changes: readonly Record<string, unknown>[];
  }[];
}

/** A generated folder whose changelog has two days. */
async function twoDays(): Promise<{
  readonly folder: string;
  readonly read: () => Read;
  readonly run: (...models: readonly TestModel[]) => Promise<string>;
}> {
  const folder = project(sales({ id: "integer", shop: "text" }), HIDDEN);
  await routewright(folder, GENERATE);
  const file = join(folder, "generated/changelog.json");
  const read = (): Read => JSON.parse(readFileSync(file, "utf8")) as Read;
  const run = async (...models: readonly TestModel[]): Promise<string> => {
    writeFileSync(join(folder, "base.json"), readFileSync(join(folder, "manifest.json")));
    writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifestOf(models)));
    await routewright(folder, GENERATE);
    const { exit, out, err } = await routewright(folder, ["changelog", "base.json"]);
    expect({ exit, err }).toEqual({ exit: 0, err: "" });
    return out;
  };
  await run(sales({ id: "integer" }), { ...HIDDEN, columns: { id: "integer", price: "numeric" } });
  // As if that had been yesterday.
  writeFileSync(file, readFileSync(file, "utf8").replace(/"date": "[^"]*"/, '"date": "2020-01-31"'));
  return { folder, read, run };
}

it("keeps what changed for consumers by day, newest first, and repeats nothing", async () => {
  const { folder, read, run } = await twoDays();
  const out = await run(sales({ id: "bigint" }, { alias: "sales_v2" }), HIDDEN);
  const today = new Date().toISOString().slice(0, 10);
  expect(
    read().entries.map(({ date, changes }) => [date, changes.map(({ endpoint, kind }) => [endpoint, kind])]),
  ).toEqual([
    [
      today,
      [
        ["/v1/shop/hidden", "column-removed"],
        ["/v1/shop/sales", "column-digits-changed"],
      ],
    ],
    [
      "2020-01-31",
      [
        ["/v1/shop/sales", "column-removed"],
        ["/v1/shop/hidden", "column-added"],
      ],
    ],
  ]);
  expect(JSON.stringify(read())).not.toContain("sales_v2");
  expect(out).toContain(
    `## ${today}\n\n- **breaking** \`/v1/shop/hidden\`: Column removed: \`price: numeric null\`\n`,
  );
  expect(out).toContain("## 2020-01-31\n");
  const before = read();
  await routewright(folder, ["changelog", "base.json"]);
  expect(read()).toEqual(before);
  expect((await routewright(folder, [...GENERATE, "--check"])).exit).toBe(0);
  const atom = (await routewright(folder, ["changelog", "base.json", "--format", "atom"])).out;
  expect(atom).toMatch(
    /^<\?xml version="1\.0" encoding="utf-8"\?>\n<feed xmlns="http:\/\/www\.w3\.org\/2005\/Atom">/,
  );
  expect(atom.match(/<entry>/g)).toHaveLength(2);
});

it("says that a measure means something else, without the formulas, which name the project's columns", async () => {
  const { read, run } = await twoDays();
  const summing = (column: string): TestModel =>
    sales(
      { id: "integer", net: "integer" },
      {
        routewright: {
          aggregate: { group_by: ["id"], measures: { total: { agg: "sum", column } }, rows: false },
        },
      },
    );
  await run(summing("id"), HIDDEN);
  const earlier = read().entries[0]?.changes.length;
  await run(summing("net"), HIDDEN);
  const changes = read().entries[0]?.changes.slice(earlier);
  expect(changes).toEqual([
    {
      endpoint: "/v1/shop/sales",
      tier: "tier0",
      kind: "meaning-changed",
      title: "Formula, filter or join changed",
      severity: "breaking",
      subject: "total",
      before: null,
      after: null,
    },
  ]);
});

it("is left as it is where it is damaged", async () => {
  const { folder } = await twoDays();
  const file = join(folder, "generated/changelog.json");
  writeFileSync(file, "<<<<<<< HEAD");
  const { exit, err } = await routewright(folder, ["changelog", "base.json"]);
  expect([exit, err]).toEqual([
    2,
    "error: generated/changelog.json is damaged: restore it from git; nothing was written.\n",
  ]);
  expect(readFileSync(file, "utf8")).toBe("<<<<<<< HEAD");
});

it("is served, as JSON and as a feed; with CATALOGUE=allowed, only what the key may call", async () => {
  const { folder } = await twoDays();
  const endpoints = async (url: string, key?: string) => {
    const { text } = await sendRequest(
      url,
      "/v1/system/changelog",
      key === undefined ? {} : { headers: { "x-api-key": key } },
    );
    return (JSON.parse(text) as Read).entries.flatMap(({ changes }) =>
      changes.map(({ endpoint }) => endpoint),
    );
  };
  const open = await startFolder(join(folder, "generated"));
  expect(await endpoints(open.url)).toEqual(["/v1/shop/sales", "/v1/shop/hidden"]);
  const feed = await sendRequest(open.url, "/v1/system/changelog", {
    headers: { accept: "application/atom+xml" },
  });
  expect([feed.status, feed.headers["content-type"]]).toEqual([200, "application/atom+xml; charset=utf-8"]);
  expect(feed.text).toContain("breaking: /v1/shop/sales: Column removed: shop: text null");
  const atom = (await sendRequest(open.url, "/v1/system/changelog.atom")).text;
  expect(atom).toContain("<entry>");
  // Ids are absolute; links lead to the feed and to the explorer.
  expect(atom).toContain("<id>urn:routewright:changelog</id>");
  expect(atom).toContain('<link rel="self" type="application/atom+xml" href="changelog.atom"/>');
  expect(atom).toContain('<link rel="alternate" type="text/html" href="../../explore"/>');
  const located = await startFolder(join(folder, "generated"), { PUBLIC_URL: "https://example.com/data" });
  const known = (await sendRequest(located.url, "/v1/system/changelog.atom")).text;
  expect(known).toContain("<id>https://example.com/data/v1/system/changelog</id>");
  expect(known).toContain('href="https://example.com/data/v1/system/changelog.atom"');

  const allowed = await startFolder(join(folder, "generated"), { CATALOGUE: "allowed" });
  expect(await endpoints(allowed.url)).toEqual(["/v1/shop/sales"]);
  expect(await endpoints(allowed.url, KEYS.tier1)).toEqual(["/v1/shop/sales"]);
  expect(await endpoints(allowed.url, KEYS.tier3)).toEqual(["/v1/shop/sales", "/v1/shop/hidden"]);
  expect((await sendRequest(allowed.url, "/v1/system/changelog.atom")).text).not.toContain("hidden");

  // An endpoint that was open then and is not now.
  generateInto(
    join(folder, "generated"),
    manifestOf([sales({ id: "integer" }, { tags: ["production", "shop", "api:sales", "tier3"] }), HIDDEN]),
  );
  const raised = await startFolder(join(folder, "generated"), { CATALOGUE: "allowed" });
  expect(await endpoints(raised.url)).toEqual([]);
});
