import { describe, expect, it } from "vitest";
import { withNullQuotients } from "../../runtime/core/model/project-sql.js";
import { clickhouseUrl, hasClickhouse } from "../support/clickhouse.js";
import { KEYS, serveManifest } from "../support/service.js";
import { inPay, payClickhouse, payDatabase, payServing } from "./pay-tables.js";

/** Formulas over `refunds` (11) and `payments` (154), and what they are. */
const FORMULAS = [
  ["payments / (refunds - refunds)", null],
  ["payments/(refunds-refunds)::numeric(20, 2)", null],
  ["100.0 * payments / - (payments - payments) + 1", null],
  ["payments / case when refunds > 0 then 0 else 1 end", null],
  ["payments / greatest(0, refunds - refunds) * 2", null],
  ["payments % (refunds - refunds)", null],
  ["payments / nullif(refunds - refunds, 0)", null],
  ["coalesce(payments / (refunds - refunds), 7)", 7],
  ["(payments + refunds) / (refunds / refunds)", "sum"],
  ["payments / 1", "payments"],
  ["payments % 10000", "payments"],
] as const;

interface Metric {
  readonly name: string;
  readonly config: { readonly tags: readonly string[] };
  readonly type_params: object;
}

interface Pay {
  readonly metrics: Readonly<Record<string, Metric>>;
}

/** The project with a metric per formula, at the path of one of its own. */
function withFormulas(text: string): object {
  const manifest = payServing(text, ["refunds", "payments"]) as Pay;
  const own = manifest.metrics["metric.pay.integer_share"];
  if (own === undefined) throw new Error("The project has no metric integer_share.");
  const made = FORMULAS.map(([expr], i): readonly [string, Metric] => {
    const name = `formula_${String(i)}`;
    const tags = ["production", "payments", "api:formulas", "tier0"];
    const more = { name, unique_id: `metric.pay.${name}`, config: { ...own.config, tags } };
    return [`metric.pay.${name}`, { ...own, ...more, type_params: { ...own.type_params, expr } }];
  });
  return { ...manifest, metrics: { ...manifest.metrics, ...Object.fromEntries(made) } };
}

async function onPostgres(): Promise<string> {
  const settings = { DATABASE_URL: await payDatabase("UTC") };
  return serveManifest(withFormulas(inPay("manifest.json")), settings);
}

async function onClickhouse(): Promise<string> {
  const text = inPay("manifest.json").replaceAll('"analytics"', JSON.stringify(await payClickhouse()));
  const mapped = withFormulas(text) as { readonly metadata: object };
  const built = { ...mapped, metadata: { ...mapped.metadata, adapter_type: "clickhouse" } };
  return serveManifest(built, { DATABASE_URL: clickhouseUrl() });
}

it.each([
  ["a / rates['USD'] * 2", "a / nullif( rates['USD'], 0) * 2"],
  ["a / m[1][b / c]::int", "a / nullif( m[1][b / nullif( c, 0)]::int, 0)"],
  ["a / (b)[1]", "a / nullif( (b)[1], 0)"],
])("the divisor of %s is whole", (text, guarded) => {
  expect(withNullQuotients([text]).join("")).toBe(guarded);
});

const engines = [
  ["PostgreSQL", onPostgres] as const,
  ...(hasClickhouse ? [["ClickHouse", onClickhouse] as const] : []),
];

describe.each(engines)("formulas that divide, on %s", async (_, serve) => {
  const url = await serve();
  const headers = { "X-API-Key": KEYS.tier0 };
  const asked = async (path: string): Promise<Readonly<Record<string, number | null>>> => {
    const response = await fetch(`${url}/v1/payments/${path}`, { headers });
    const text = await response.text();
    expect([response.status, text]).toEqual([200, text]);
    return (JSON.parse(text) as Record<string, number | null>[])[0] ?? {};
  };
  const { refunds = null } = await asked("refunds");
  const { payments = null } = await asked("payment_count");
  const values = { sum: Number(payments) + Number(refunds), payments };

  it.each(FORMULAS.map(([formula, value], i) => [formula, value, i] as const))(
    "%s is %s",
    async (_formula, value, i) => {
      const name = `formula_${String(i)}`;
      const row = await asked(`formulas?metrics=${name}`);
      expect(row).toEqual({ [name]: typeof value === "string" ? values[value] : value });
    },
  );
});
