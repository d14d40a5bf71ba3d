import { describe, expect, it } from "vitest";
import { clickhouseUrl, hasClickhouse } from "../support/clickhouse.js";
import { databaseUrl, query } from "../support/database.js";
import { manifestOf } from "../support/manifest.js";
import { serveManifest } from "../support/service.js";
import { askedRows, isSameRow, rowsOf, seeded } from "./random-requests.js";
import { GROUPS, MEASURES, oracleOf, requestOf, type SalesQuestion } from "./sales-oracle.js";
import { clickhouseSales, postgresSales, salesModels } from "./sales-tables.js";

/** Random questions; `GROUP_QUESTIONS=5000` for the full number. */
const QUESTIONS = Number(process.env["GROUP_QUESTIONS"] ?? 25);

const KEYS = {
  RATE_LIMITS: "1000000",
  API_KEYS: JSON.stringify({
    sk_live_acme: { tier: "tier0", user: "acme", org: "acme" },
    sk_live_all: { tier: "tier3", user: "all", org: "*" },
  }),
};
const schema = await postgresSales();
const TABLE = `"${schema}".sales`;
const typed = { region: "text", product: "text", day: "date", amount: "bigint", buyer: "text", org: "text" };
const engines = [
  await serveManifest(manifestOf(salesModels(schema, typed), { adapter_type: "postgres" }), {
    DATABASE_URL: databaseUrl,
    ...KEYS,
  }),
  ...(hasClickhouse
    ? [
        await serveManifest(
          manifestOf(
            salesModels(await clickhouseSales(), {
              region: "LowCardinality(Nullable(String))",
              product: "String",
              day: "Date32",
              amount: "Nullable(Int64)",
              buyer: "String",
              org: "String",
            }),
            { adapter_type: "clickhouse" },
          ),
          { DATABASE_URL: clickhouseUrl(), ...KEYS },
        ),
      ]
    : []),
];

type Row = Readonly<Record<string, string | null>>;

const sorted = (rows: readonly Row[]): readonly Row[] =>
  rows.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
const keyOf = (row: Row): string =>
  JSON.stringify([...Object.keys(GROUPS), "level", "other"].map((name) => row[name]));

async function wantedRows(question: SalesQuestion, table = TABLE): Promise<readonly Row[]> {
  const rows = await query(
    `SELECT pg_catalog.row_to_json(x)::text AS row FROM (${oracleOf(question, table)}) x`,
  );
  return rowsOf(`[${rows.map(({ row }) => String(row)).join()}]`);
}

/** What differs between the answers of the engines and those of SQL by hand. */
async function differences(question: SalesQuestion, wanted: readonly Row[]): Promise<readonly unknown[]> {
  const request = requestOf(question);
  const found = await Promise.all(
    engines.map(async (url, i) => {
      const got = await askedRows(url, `/v1/shop/sales?${request}`, "sk_live_all");
      const rows = sorted(got.rows);
      const isSame =
        got.status === 200 &&
        rows.length === wanted.length &&
        wanted.every((row, k) => isSameRow(row, rows[k] ?? {}));
      return isSame
        ? []
        : [{ engine: i, request, status: got.status, got: got.status === 200 ? rows : got.text, wanted }];
    }),
  );
  return found.flat();
}

async function ask(request: string, key = "sk_live_all", path = "sales"): Promise<readonly unknown[]> {
  const asked = await Promise.all(engines.map((url) => askedRows(url, `/v1/shop/${path}?${request}`, key)));
  return asked.map(({ status, text }) => [status, JSON.parse(text)]);
}

function randomQuestion(random: () => number): SalesQuestion {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const some = (list: readonly string[], least: number, most: number): readonly string[] => [
    ...new Set(Array.from({ length: least + Math.floor(random() * (most - least + 1)) }, () => pick(list))),
  ];
  const measures = some(Object.keys(MEASURES), 1, 3);
  const kind = pick(["top", "totals", "compare", "having", "top and totals"]);
  const where = random() < 0.4 ? [pick(WHERE)] : [];
  const by = pick(measures);
  const having = random() < 0.5 ? [pick(havingOf(by))] : [];
  const base = { measures, where };
  if (kind === "compare")
    return {
      measures,
      where: where.filter(([field]) => !field.startsWith("start")),
      ...comparison(pick, some),
    };
  const groups = some(Object.keys(GROUPS), 1, 3);
  const top = {
    count: pick([1, 2, 5, 40]),
    by: pick([...measures, ...groups]),
    ...pick([{}, { direction: "ASC" as const }]),
  };
  return {
    ...base,
    groups,
    having,
    ...(kind.includes("totals") && { totals: true }),
    ...(kind.includes("top") && { top: { ...top, ...pick([{}, { other: true as const }]) } }),
  };
}

const WHERE = [
  ["product=book,ink,cup", "product IN ('book', 'ink', 'cup')"],
  ["region[ne]=EU", "region <> 'EU'"],
  ["region[null]=true", "region IS NULL"],
  ["start_date=2024-02-10", "day >= '2024-02-10'"],
] as const;

const havingOf = (measure: string): readonly (readonly [string, string])[] => {
  const sql = MEASURES[measure] ?? "";
  return [
    [`${measure}[gt]=20`, `${sql} > 20`],
    [`${measure}[lte]=700`, `${sql} <= 700`],
    [`${measure}[ne]=3`, `${sql} <> 3`],
    [`${measure}[in]=1,2,3,4,5`, `${sql} IN (1, 2, 3, 4, 5)`],
    [`${measure}[null]=false`, `${sql} IS NOT NULL`],
    [`${measure}[null]=true`, `${sql} IS NULL`],
  ];
};

function comparison(
  pick: <T>(list: readonly T[]) => T,
  some: (list: readonly string[], least: number, most: number) => readonly string[],
) {
  const [start, end, by, grains] = pick(PERIODS);
  const groups = [...some(["region", "product"], 0, 2), ...some(grains, 0, 1)];
  return { groups, compare: { by, start, end } };
}

type Period = readonly [string, string, "previous_period" | "previous_year", readonly string[]];

const PERIODS: readonly Period[] = [
  ["2024-03-01", "2024-03-31", "previous_period", ["day__day", "day__month"]],
  ["2024-02-01", "2024-02-29", "previous_year", ["day__day", "day__month"]],
  ["2025-02-01", "2025-02-28", "previous_year", ["day__day", "day__month"]],
  ["2024-02-01", "2024-02-29", "previous_period", ["day__day", "day__month"]],
  ["2024-01-15", "2024-02-29", "previous_year", ["day__day", "day__month", "day__quarter", "day__year"]],
  ["2024-02-29", "2024-02-29", "previous_year", ["day__day"]],
  ["2024-07-01", "2024-12-31", "previous_period", ["day__month", "day__quarter", "day__day"]],
  ["2024-01-01", "2024-12-31", "previous_period", ["day__year", "day__quarter", "day__day"]],
  ["2024-02-26", "2024-03-24", "previous_period", ["day__week", "day__day"]],
  ["2024-02-20", "2024-03-01", "previous_period", ["day__day"]],
  ["2024-12-30", "2025-01-05", "previous_period", ["day__week", "day__day"]],
];

describe("options of groups, beside SQL by hand", () => {
  it(
    `give the rows of ${String(QUESTIONS)} random questions`,
    async () => {
      const random = seeded(Number(process.env["GROUP_SEED"] ?? 1));
      const differing: unknown[] = [];
      let answered = 0;
      for (let i = 0; i < QUESTIONS && differing.length < 3; i++) {
        const question = randomQuestion(random);
        const wanted = sorted(await wantedRows(question));
        differing.push(...(await differences(question, wanted)));
        answered += wanted.length > 0 ? 1 : 0;
      }
      expect(differing).toEqual([]);
      expect(answered).toBeGreaterThan(QUESTIONS / 2);
    },
    60_000 + 3000 * QUESTIONS,
  );
});

describe("options of groups", () => {
  it("keep a group that is null apart from the null of a total", async () => {
    const rows = await ask("group_by=region&measures=orders&totals=true");
    const [postgres] = rows as [[number, { region: string | null; level: number; orders: number }[]]];
    const nulls = postgres[1].filter(({ region }) => region === null);
    expect(nulls.map(({ level }) => level)).toEqual([1, 0]);
    expect(nulls[1]!.orders).toBe(postgres[1].slice(0, -1).reduce((sum, { orders }) => sum + orders, 0));
    for (const each of rows) expect(each).toEqual(postgres);
  });

  it("come on pages, each row once, the other groups last", async () => {
    const request = "group_by=region,product&measures=orders&top=7&sort_by=orders&other=true&totals=true";
    for (const url of engines) {
      const all = (await (await fetch(`${url}/v1/shop/sales?${request}`)).json()) as { other: boolean }[];
      const paged: unknown[] = [];
      let path: string | undefined = `/v1/shop/sales?${request}&limit=4`;
      while (path !== undefined) {
        const response: Response = await fetch(`${url}${path}`);
        paged.push(...((await response.json()) as unknown[]));
        path = /<([^>]*)>; rel="next"/.exec(response.headers.get("link") ?? "")?.[1];
      }
      expect(paged).toEqual(all);
      expect(all.map(({ other }) => other).indexOf(true)).toBe(all.length - 1);
    }
  });

  it("may have a measure called rank", async () => {
    const options = "group_by=region&top=2&other=true&totals=true";
    const orders = await ask(`${options}&measures=orders&sort_by=orders`);
    const renamed = JSON.parse(JSON.stringify(orders).replaceAll("orders", "rank")) as unknown;
    expect(await ask(`${options}&measures=rank&sort_by=rank`)).toEqual(renamed);
  });

  it("have no row for other groups where there are none", async () => {
    const rows = await ask("group_by=region&measures=orders&top=50&sort_by=orders&other=true");
    for (const [, body] of rows as [number, { other: boolean }[]][])
      expect(body.map(({ other }) => other)).toEqual(Array(5).fill(false));
  });

  it("of `filter` are conditions on results beside those on rows", async () => {
    const expression = encodeURIComponent(
      "orders gt 30 and (region eq 'EU' or region eq 'US') and not (revenue lt 0)",
    );
    const plain = await ask(
      "group_by=product&measures=orders,revenue&region[in]=EU,US&orders[gt]=30&revenue[gte]=0",
    );
    expect(await ask(`group_by=product&measures=orders,revenue&filter=${expression}`)).toEqual(plain);
    expect(plain[0]).toEqual([
      200,
      expect.arrayContaining([expect.objectContaining({ product: expect.any(String) })]),
    ]);
  });

  it("change no difference of dates into a number", async () => {
    const [[status, body]] = (await ask(
      "measures=last_day&compare=previous_year&start_date=2024-01-01&end_date=2024-12-31",
    )) as [[number, Record<string, unknown>[]]];
    expect(status).toBe(200);
    expect(body[0]).toMatchObject({ last_day__change: null });
    expect(body[0]!["last_day__previous"]).toMatch(/^2023-12-/);
  });
});

it("a body has a condition on a result as an object", async () => {
  const body = { group_by: ["region"], measures: ["orders"], orders: { gt: 30 }, totals: true };
  const sent = engines.map(async (url) => {
    const headers = { "Content-Type": "application/json" };
    const response = await fetch(`${url}/v1/shop/sales`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    return [response.status, await response.json()];
  });
  expect(await Promise.all(sent)).toEqual(
    await ask("group_by=region&measures=orders&orders[gt]=30&totals=true"),
  );
});

describe("refused", () => {
  const REFUSED: readonly (readonly [request: string, detail: string | RegExp])[] = [
    ["group_by=region&top=0&sort_by=orders", "'top' must be >= 1."],
    ["group_by=region&top=1001&sort_by=orders", "'top' must be <= 1000."],
    ["group_by=region&top=2", "'top' requires sort_by."],
    ["group_by=region&top=2&sort_by=colour", /^'sort_by' must be one of/],
    ["group_by=region&other=true", "'other' requires top."],
    ["measures=orders&top=1&sort_by=orders&other=true", "'other' requires group_by."],
    ["measures=orders&totals=true", "'totals' requires group_by."],
    ["group_by=region&totals=yes", /'totals' must be a boolean/],
    ["group_by=region&compare=previous_year", /^'compare' requires the first and the last day/],
    [
      "group_by=region&compare=last_week&start_date=2024-01-01&end_date=2024-01-02",
      /must be one of: previous_period, previous_year/,
    ],
    [
      "group_by=day__month&compare=previous_period&start_date=2024-01-02&end_date=2024-02-05",
      /cannot have day__month/,
    ],
    [
      "group_by=day__week&compare=previous_year&start_date=2024-01-01&end_date=2024-01-07",
      /cannot have day__week/,
    ],
    [
      "group_by=region&compare=previous_year&start_date=0001-01-01&end_date=0001-02-01",
      /with a period before/,
    ],
    [
      "group_by=region&compare=previous_year&start_date=2024-02-01&end_date=2024-01-01",
      /with a period before/,
    ],
    ...["day[eq]=2024-01-15", "day[ne]=2024-01-15", "filter=day lt 2024-01-20 or region eq 'EU'"].map(
      (more): readonly [string, RegExp] => [
        `group_by=region&compare=previous_year&start_date=2024-01-01&end_date=2024-01-31&${more}`,
        /^'compare' has no value for day, whose other conditions would hold in the earlier period too/,
      ],
    ),
    ["group_by=region&measures=orders&revenue[gt]=1", "'revenue' must be asked in 'measures'."],
    ["group_by=region&measures=orders&orders[gt]=many", /'orders\[gt\]' must be an integer/],
    ["group_by=region&measures=orders&orders[like]=1", /orders\[like\]/],
    ["group_by=region&filter=orders gt 3 or region eq 'EU'", /outside of 'or' only/],
    ["group_by=region&filter=orders gt 3 or revenue gt 3", /outside of 'or' only/],
    ["orders[gt]=1", /Unsupported query parameters/],
  ];
  it.each(REFUSED)("%s", async (request, detail) => {
    for (const answer of await ask(request)) {
      const [status, body] = answer as [number, { detail: string }];
      expect([status, body.detail]).toEqual([400, expect.stringMatching(detail)]);
    }
  });

  it("a condition on a result alone, where rows need a filter", async () => {
    const asked = await ask("group_by=region&measures=orders&orders[eq]=3", "sk_live_all", "strict_sales");
    const detail = "At least one business filter is required for this endpoint.";
    expect(asked).toEqual(engines.map(() => [400, { detail }]));
  });
});

describe("own rows", () => {
  it.each([
    "group_by=region&measures=orders,buyers&top=2&sort_by=orders&other=true&totals=true",
    "group_by=region&measures=revenue&compare=previous_year&start_date=2024-01-01&end_date=2024-12-31",
    "group_by=product&measures=orders&orders[gt]=40",
  ])("are all that %s reads", async (request) => {
    const own = await ask(request, "sk_live_acme", "own_sales");
    const wanted = await ask(request, "sk_live_all", "acme_sales");
    expect(own).toEqual(wanted);
    expect(own).not.toEqual(await ask(request, "sk_live_all", "own_sales"));
  });
});
