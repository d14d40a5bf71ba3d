import { describe, expect, it } from "vitest";
import { catalogueOf } from "../../generator/catalogue/build.js";
import { parseManifest } from "../../generator/manifest/manifest.js";
import { KEYS, serveManifest } from "../support/service.js";
import { exposureService } from "./exposure-service.js";
import { EXPOSURE, exposureDatabase } from "./exposure-tables.js";

const { DATABASE, url, ask } = await exposureService();

const reading = parseManifest(JSON.stringify(EXPOSURE), "manifest.json");
if (!reading.ok) throw new Error(reading.problems.join(" "));
const { entries, skipped } = catalogueOf(reading.value);

const whyNot = (name: string): string =>
  skipped
    .filter(({ model }) => model.endsWith(`.${name}`))
    .flatMap(({ problems }) => problems.map(({ message }) => message))
    .join(" ");

/** What an endpoint can be grouped and filtered by. */
function offered(resource: string): readonly string[] {
  const { aggregate } = entries.find((entry) => entry.resource === resource) ?? {};
  const groups = (aggregate?.measures ?? []).flatMap((measure) => measure.groups);
  return [
    ...new Set([...groups.map(({ name }) => name), ...(aggregate?.filters ?? []).map((f) => f.column)]),
  ];
}

describe("the tier of a metric is the strictest of what it reads", () => {
  it.each([
    ["the fact", "guarded_sum"],
    ["a joined model", "to_vips?group_by=vip__level"],
    ["a joined model, without its group", "to_vips"],
    ["a joined model of a saved query", "saved_vips"],
  ])("%s", async (_, request) => {
    expect((await ask(request)).status).toBe(403);
    expect((await ask(request, "acme")).status).toBe(403);
    expect((await ask(request, "all")).status).toBe(200);
  });
});

describe.each(["acme", "other"] as const)("options of groups read the own rows of %s alone", (key) => {
  type Rows = readonly { readonly revenue: number; readonly revenue__previous?: number }[];
  const rowsOf = async (request: string): Promise<Rows> => (await ask(request, key)).body as Rows;
  const sumOf = (rows: Rows): number => rows.reduce((sum, { revenue }) => sum + revenue, 0);

  it("in totals and in other groups", async () => {
    const all = await rowsOf("revenue?metrics=revenue");
    const totals = await rowsOf("revenue?group_by=customer__region&metrics=revenue&totals=true");
    expect(totals.at(-1)).toEqual({ customer__region: null, ...all[0], level: 0 });
    const top = await rowsOf(
      "revenue?group_by=payment__token&metrics=revenue&top=1&sort_by=revenue&other=true",
    );
    expect(sumOf(top)).toBe(all[0]?.revenue);
  });

  it("in an earlier period", async () => {
    const january = await rowsOf("revenue?metrics=revenue&start_date=2026-01-01&end_date=2026-01-31");
    const february = await rowsOf(
      "revenue?metrics=revenue&start_date=2026-02-01&end_date=2026-02-28&compare=previous_period",
    );
    expect(february[0]?.revenue__previous).toBe(january[0]?.revenue);
  });

  it("and name nothing that is private", async () => {
    for (const asked of [
      "top=1&sort_by=payment__email",
      "payment__email[gt]=a",
      "email[gt]=a",
      "totals=payment__email",
    ])
      expect((await ask(`revenue?group_by=payment__token&${asked}`, key)).status).toBe(400);
  });
});

it("the tier of a published time spine counts where a metric reads its periods", () => {
  const published = structuredClone(EXPOSURE) as { nodes: Record<string, { tags: readonly string[] }> };
  published.nodes["model.test.days"]!.tags = ["production", "pay", "api:days", "tier2"];
  const read = parseManifest(JSON.stringify(published), "manifest.json");
  if (!read.ok) throw new Error(read.problems.join(" "));
  const tiers = new Map(catalogueOf(read.value).entries.map(({ resource, tier }) => [resource, tier]));
  expect(["running", "share", "revenue", "payers"].map((name) => tiers.get(name))).toEqual([
    "tier2",
    "tier2",
    "tier0",
    "tier0",
  ]);
});

/** Payments that no entity identifies: their measures have no time. */
const TIMELESS = structuredClone(EXPOSURE) as {
  semantic_models: Record<string, { defaults?: object; entities: unknown[] }>;
  metrics: Record<string, { config: { tags: readonly string[] } }>;
};
const transfers = TIMELESS.semantic_models["semantic_model.test.transfers"]!;
delete transfers.defaults;
transfers.entities = transfers.entities.slice(1);

it("a metric without a time takes no range of dates", async () => {
  const timeless = await serveManifest(TIMELESS, { DATABASE_URL: await exposureDatabase() });
  const asked = async (request: string): Promise<number> =>
    (await fetch(`${timeless}/v1/pay/${request}`, { headers: { "X-API-Key": KEYS.tier3 } })).status;
  expect(await asked("sent_by_all")).toBe(200);
  for (const range of ["start_date=2026-01-01", "end_date=2026-01-01"])
    expect(await asked(`sent_by_all?${range}`)).toBe(400);
  const { paths } = (await (await fetch(`${timeless}/openapi.json`)).json()) as {
    paths: Record<string, { get: { parameters: { name?: string }[] } }>;
  };
  const names = (path: string) => paths[path]?.get.parameters.map(({ name }) => name);
  expect(names("/v1/pay/sent_by_all")).not.toContain("start_date");
  expect(names("/v1/pay/revenue")).toContain("start_date");
});

it("a metric without a time shares no path with one that has it", () => {
  const mixed = structuredClone(TIMELESS);
  mixed.metrics["metric.test.sent_by_all"]!.config.tags = ["production", "pay", "api:revenue", "tier0"];
  const read = parseManifest(JSON.stringify(mixed), "manifest.json");
  if (!read.ok) throw new Error(read.problems.join(" "));
  const problems = catalogueOf(read.value).skipped.flatMap((each) => each.problems);
  expect(
    problems.filter(({ model }) => model === "metric.test.sent_by_all").map(({ message }) => message),
  ).toEqual([
    "The metric has no time, and payment_count of the same path has one: `start_date` could not bound both.",
  ]);
});

it("a metric with a grain among its groups that no time spine has is skipped with the reason", () => {
  const custom = structuredClone(EXPOSURE) as {
    metrics: Record<string, { config: { meta: { routewright?: unknown } } }>;
  };
  custom.metrics["metric.test.payers"]!.config.meta.routewright = {
    group_by: [{ name: "metric_time", grains: ["fiscal_year"] }],
  };
  const read = parseManifest(JSON.stringify(custom), "manifest.json");
  if (!read.ok) throw new Error(read.problems.join(" "));
  const problems = catalogueOf(read.value).skipped.flatMap((each) => each.problems);
  expect(
    problems.filter(({ model }) => model === "metric.test.payers").map(({ message }) => message),
  ).toEqual(["group_by names metric_time__fiscal_year, which is no dimension of the metric."]);
});

const OWN: readonly (readonly [request: string, acme: unknown, other: unknown])[] = [
  ["revenue?metrics=revenue", [{ revenue: 12 }], [{ revenue: 100 }]],
  [
    "revenue?group_by=payment__token",
    [
      { payment__token: "GNO", revenue: 5, payment_count: 1 },
      { payment__token: "XDAI", revenue: 7, payment_count: 1 },
    ],
    [{ payment__token: "GNO", revenue: 100, payment_count: 1 }],
  ],
  [
    "revenue?group_by=customer__region&metrics=payment_count",
    [
      { customer__region: "EU", payment_count: 1 },
      { customer__region: null, payment_count: 1 },
    ],
    [{ customer__region: "US", payment_count: 1 }],
  ],
  [
    "revenue?customer__region=US",
    [{ revenue: null, payment_count: 0 }],
    [{ revenue: 100, payment_count: 1 }],
  ],
  ["revenue?payment__token=GNO&metrics=revenue", [{ revenue: 5 }], [{ revenue: 100 }]],
  ["revenue?payment__token[ne]=none&metrics=payment_count", [{ payment_count: 2 }], [{ payment_count: 1 }]],
  ["revenue?end_date=2026-01-01&metrics=revenue", [{ revenue: 5 }], [{ revenue: null }]],
  ["payers", [{ payers: 2 }], [{ payers: 1 }]],
  ["running", [{ running: 12 }], [{ running: 100 }]],
  [
    "running?group_by=metric_time__day&start_date=2026-01-03&end_date=2026-01-03",
    [{ metric_time__day: "2026-01-03", running: 12 }],
    [{ metric_time__day: "2026-01-03", running: 100 }],
  ],
  [
    "share?group_by=metric_time__day&start_date=2026-01-02&end_date=2026-01-02",
    [{ metric_time__day: "2026-01-02", share: 2 }],
    [],
  ],
  [
    "by_region",
    [
      { customer__region: null, revenue: 7, payment_count: 1 },
      { customer__region: "EU", revenue: 5, payment_count: 1 },
    ],
    [{ customer__region: "US", revenue: 100, payment_count: 1 }],
  ],
  ["own_payments", [{ volume: 12, payments: 2, gno: 1 }], [{ volume: 100, payments: 1, gno: 1 }]],
  ["own_payments?measures=payments", [{ payments: 2 }], [{ payments: 1 }]],
  [
    "own_payments?group_by=paid_on__month&measures=volume",
    [{ paid_on__month: "2026-01-01", volume: 12 }],
    [{ paid_on__month: "2026-01-01", volume: 100 }],
  ],
  ["own_payments?token[eq]=GNO&measures=volume", [{ volume: 5 }], [{ volume: 100 }]],
  // The rule is of the joined model alone: its rows are those of the caller.
  ["sent", [{ sent: 112 }], [{ sent: 112 }]],
  [
    "sent?group_by=customer__region",
    [
      { customer__region: "EU", sent: 5 },
      { customer__region: null, sent: 107 },
    ],
    [
      { customer__region: "US", sent: 107 },
      { customer__region: null, sent: 5 },
    ],
  ],
  ["sent?customer__region=US", [{ sent: null }], [{ sent: 107 }]],
];

describe("callers get sums and counts over the rows of their organization", () => {
  it.each(OWN)("%s", async (request, acme, other) => {
    expect(await ask(request, "acme")).toEqual({ status: 200, body: acme });
    expect(await ask(request, "other")).toEqual({ status: 200, body: other });
    expect((await ask(request)).status).toBe(403);
    expect((await ask(request, "none")).status).toBe(403);
    expect((await ask(request, "all")).status).toBe(200);
  });

  it("also where the project writes their column in another letter case", async () => {
    const written = JSON.parse(JSON.stringify(EXPOSURE).replaceAll('"org_id"', '"ORG_ID"')) as unknown;
    const other = await serveManifest(written, DATABASE);
    for (const [request, acme] of OWN)
      expect([request, await ask(request, "acme", other)]).toEqual([request, { status: 200, body: acme }]);
  });

  it("a metric over a model whose rule of rows is invalid is not served", async () => {
    expect(whyNot("from_broken")).toContain("meta.routewright.rows");
    expect((await ask("from_broken", "all")).status).toBe(404);
  });

  it("a metric over a model that the manifest does not have is not served", async () => {
    expect(whyNot("from_missing")).toContain("model.test.missing");
    expect((await ask("from_missing", "all")).status).toBe(404);
  });
});

describe("private columns", () => {
  const PRIVATE = [
    "payment__email",
    "payment__mailbox",
    "payment__born_on",
    "payment__born_on__month",
    "customer__phone",
    "vip__phone",
    "transfer__email",
    "transfer__born_on",
    "email",
    "born_on",
    "phone",
  ];
  const endpoints = ["revenue", "payers", "running", "sent", "sent_by_all", "own_payments", "copied_count"];
  const requests = endpoints.flatMap((endpoint) =>
    PRIVATE.flatMap((name) => [
      `${endpoint}?group_by=${name}`,
      `${endpoint}?${name}=x`,
      `${endpoint}?${name}[null]=false`,
      `${endpoint}?${name}[gte]=2000-01-01`,
      `${endpoint}?sort_by=${name}`,
    ]),
  );
  it("are neither groups, filters nor sorts of an endpoint", async () => {
    const answers = await Promise.all(requests.map(async (each) => [each, (await ask(each, "all")).status]));
    expect(answers.filter(([, status]) => status !== 400)).toEqual([]);
  });

  it("are not offered", () => {
    expect(offered("sent_by_all").filter((name) => /email|mailbox|born_on|phone/.test(name))).toEqual([]);
    expect(offered("copied_count").filter((name) => /email|mailbox/.test(name))).toEqual([]);
    expect(offered("hidden_count").filter((name) => !/^(customer|vip)__(region|level)$/.test(name))).toEqual(
      [],
    );
  });

  it("are groups where the metric lists them by name", async () => {
    expect((await ask("listed?group_by=transfer__email,vip__phone", "all")).status).toBe(200);
    expect((await ask("listed?group_by=transfer__mailbox", "all")).status).toBe(400);
  });

  it.each(["max_email", "min_email", "median_born", "percentile_born", "max_copied", "from_hidden"])(
    "are not shown by the metric %s",
    async (name) => {
      expect(whyNot(name)).toContain("private");
      expect((await ask(name, "all")).status).toBe(404);
    },
  );

  it.each(["min", "max"])("are not shown by the measure %s of a model", async (agg) => {
    for (const of of ["private", "inherited", "hidden"]) {
      expect([of, whyNot(`${agg}_of_${of}`)]).toEqual([of, expect.stringContaining("private")]);
      expect((await ask(`${agg}_of_${of}`, "all")).status).toBe(404);
    }
  });

  it("are not the time of a metric unless it lists its time", async () => {
    expect(whyNot("births")).toContain("private");
    expect((await ask("births?start_date=1991-01-01", "all")).status).toBe(404);
    expect((await ask("births_listed?group_by=metric_time__year", "all")).status).toBe(200);
  });
});

describe("filters on groups are values", () => {
  const TEXTS = [
    "'",
    "''",
    "x' OR '1'='1",
    "x') OR (1=1",
    ")",
    "\\",
    '"',
    "x; DROP TABLE analytics.payments --",
    "$1",
    "{{ x }}",
  ];
  it.each(TEXTS)("%s", async (text) => {
    const value = encodeURIComponent(text);
    const empty = { status: 200, body: [{ revenue: null }] };
    expect(await ask(`revenue?metrics=revenue&payment__token=${value}`, "acme")).toEqual(empty);
    expect(await ask(`revenue?metrics=revenue&payment__token[in]=${value}`, "acme")).toEqual(empty);
    expect(await ask(`revenue?metrics=revenue&customer__region=${value}`, "acme")).toEqual(empty);
    expect((await ask(`revenue?payment__paid_on=${value}`, "acme")).status).toBe(400);
    expect((await ask(`revenue?start_date=${value}`, "acme")).status).toBe(400);
    for (const field of [
      "group_by",
      "metrics",
      "sort_by",
      "sort_direction",
      `payment__token[${value}]`,
      value,
    ])
      expect([field, (await ask(`revenue?${field}=${value}`, "acme")).status]).toEqual([field, 400]);
    for (const field of ["group_by", "measures", "sort_by"])
      expect([field, (await ask(`own_payments?${field}=${value}`, "acme")).status]).toEqual([field, 400]);
  });

  it.each([
    "group_by=payment__nothing",
    "payment__nothing=1",
    "metrics=nothing",
    "where=1",
    "sort_by=payment__token",
  ])("unknown: %s", async (query) => {
    expect((await ask(`revenue?${query}`, "acme")).status).toBe(400);
  });
});

it.each(["revenue", "by_region", "own_payments"])("%s takes no body", async (name) => {
  for (const body of [{ group_by: ["payment__email"] }, { measures: ["volume"] }, { org_id: "other" }]) {
    const { status } = await fetch(`${url}/v1/pay/${name}`, {
      method: "POST",
      headers: { "X-API-Key": "sk_live_acme", "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    expect(status).toBe(405);
  }
});

it.each([
  "group_by=payment__token",
  "metrics=revenue",
  "sort_by=revenue",
  "customer__region=EU",
  "fields=revenue",
])("a saved query takes no %s", async (query) => {
  expect((await ask(`by_region?${query}`, "acme")).status).toBe(400);
});
