/** What the title of an endpoint is made of. */
export interface Titled {
  /** The project's own. */
  readonly title?: string;
  readonly resource: string;
  readonly granularity: string | null;
  readonly window: string | null;
  readonly columns: readonly { readonly name: string }[];
}

/**
 * The title of an endpoint in words: the project's own, else made of its name, its grain, its window and the unit of what it is named for:
 * `Volume per bridge and day, USD` of `volume_per_bridge` by day with a column `volume_usd`.
 */
export function endpointTitle(endpoint: Titled): string {
  const [resource = "", version] = endpoint.resource.split("@");
  const title = titleOfResource({ ...endpoint, resource });
  return version === undefined ? title : `${title}, version ${version}`;
}

function titleOfResource(endpoint: Titled): string {
  const { title, resource, granularity, window } = endpoint;
  if (title !== undefined) return title.replace(/\s+/g, " ").trim();
  const name = wordsOf(resource);
  const grain = grainOf(granularity);
  const isSaid = grain === undefined || name.includes(grain) || name.includes(granularity ?? "");
  const by = name.some((word) => /^(per|by)$/.test(word)) ? "and" : "per";
  const [first = "", second = ""] = [grain === undefined ? granularity : null, window].map((period) =>
    wordsOf(period ?? "").join(" "),
  );
  const unit = unitOf(endpoint);
  const parts = [
    [...name, ...(isSaid ? [] : [by, grain])].join(" "),
    first,
    first.endsWith(second) || window === granularity ? "" : second,
    ...(unit === null || name.includes(unit) ? [] : [unit]),
  ];
  return capitalized(parts.filter((part) => part !== "").join(", "));
}

const GRAINS: Readonly<Record<string, string | undefined>> = {
  hourly: "hour",
  daily: "day",
  weekly: "week",
  monthly: "month",
  quarterly: "quarter",
  yearly: "year",
};

/** The period of a granularity, such as `day` of `daily`. */
function grainOf(granularity: string | null): string | undefined {
  return GRAINS[granularity ?? ""];
}

/** The periods of granularities, the shortest first. */
export function grainsOf(granularities: readonly (string | null)[]): readonly string[] {
  return Object.entries(GRAINS).flatMap(([name, grain]) =>
    granularities.includes(name) ? (grain ?? []) : [],
  );
}

/** A name in words, such as `volume USD` of `volume_usd`. */
export function inWords(name: string): string {
  return wordsOf(name).join(" ");
}

/** The same as a title. */
export function titleInWords(name: string): string {
  return capitalized(inWords(name));
}

export const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Short forms in names, in full. */
const IN_FULL: Readonly<Record<string, string>> = {
  ...{ avg: "average", cnt: "count", cum: "cumulative", max: "maximum", min: "minimum", num: "number" },
  ...{ pct: "percent", qty: "quantity", tx: "transactions", txs: "transactions" },
};

/** Words that are written in capitals. */
const CAPITALS =
  /^(api|apr|apy|btc|cpu|dao|dex|eth|eur|gbp|chf|jpy|gdp|http|id|ip|kpi|nft|sql|tvl|url|usd|utc|vat)$/;

/** Words of a segment of a path, or of another name: `last_7d` is the last 7 days. */
function wordsOf(segment: string): readonly string[] {
  return segment
    .split(/[_.-]+/)
    .filter((word) => word !== "")
    .map((word) => {
      const lower = word.toLowerCase();
      const [, number = "", unit = ""] = /^(\d+)(min|h|d|w|m|y)$/.exec(lower) ?? [];
      if (number !== "") return periodOf(number, unit);
      if (Object.hasOwn(IN_FULL, lower)) return IN_FULL[lower] ?? word;
      return CAPITALS.test(lower) ? lower.toUpperCase() : word;
    });
}

const PERIODS: Readonly<Record<string, string>> = {
  ...{ min: "minute", h: "hour", d: "day", w: "week", m: "month", y: "year" },
};

function periodOf(number: string, unit: string): string {
  return `${number} ${PERIODS[unit] ?? unit}${number === "1" ? "" : "s"}`;
}

/** Units at the end of a column's name, as a title has them. */
const UNITS: Readonly<Record<string, string>> = {
  ...{ usd: "USD", eur: "EUR", gbp: "GBP", chf: "CHF", jpy: "JPY", eth: "ETH", btc: "BTC" },
  ...{ pct: "%", percent: "%", ms: "ms", kwh: "kWh", mwh: "MWh", gwh: "GWh", kg: "kg", km: "km" },
};

/** The unit of the column that the endpoint is named for, as `volume_usd` of `volume_per_bridge`; null where its name says none. */
function unitOf({ resource, columns }: Titled): string | null {
  const [subject = ""] = resource.split(/_(?:per|by)_/);
  for (const { name } of columns) {
    const [, stem = "", suffix = ""] = /^(.+)_([a-z]+)$/.exec(name.toLowerCase()) ?? [];
    if (Object.hasOwn(UNITS, suffix) && stem === subject.toLowerCase()) return UNITS[suffix] ?? null;
  }
  return null;
}

/** What descriptions of models begin with, and what says nothing: `This view provides`. */
const PREAMBLE =
  /^(?:this|the)\s+(?:[`'"]?\w+_\w+[`'"]?\s+)?(?:(?:dbt|api|kpi)\s+)?(?:view|model|table|endpoint|data ?set)\s+(?:provides|shows|contains|returns|lists|calculates|computes|displays|presents|gives|tracks|aggregates|summari[sz]es|reports|holds|delivers|exposes)\s+/i;

/** A description without such a beginning. */
export function withoutPreamble(description: string): string {
  const rest = description.replace(PREAMBLE, "");
  return rest === description || rest === "" ? description : capitalized(rest);
}
