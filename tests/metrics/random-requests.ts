import { request as send } from "node:http";

/** A number generator with a seed: a failing run is repeated by its number. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Metrics and groups of pay, and of MetricFlow's project bnb, whose SQL only PostgreSQL reads so, or whose division of two integers the engines round otherwise. */
export const OF_POSTGRES: ReadonlySet<string> = new Set([
  ...["ny_usd", "integer_share", "created_in_new_york"],
  ...["bookings_mom", "bookings_yoy", "bookings_alien_day_over_alien_day"],
]);

const GROUPS = [
  ...["day", "week", "month", "quarter", "year"].map((grain) => `metric_time__${grain}`),
  "metric_time",
  "payment__token",
  "payment__status",
  "payment__size",
  "payment__refunded",
  "payment__settled_on__month",
  "merchant",
  "merchant__region",
  "merchant__onboarded_on__quarter",
  "customer__segment",
  "bridge",
  "bridge__family",
  "bridge__launched_on__year",
  "wallet",
  "transfer__ts__hour",
];
const FILTERS = [
  "payment__token=GNO",
  "payment__status[ne]=settled",
  "merchant__region[in]=EU,US",
  "merchant__region[null]=true",
  "customer__segment[null]=false",
  "bridge=hop",
  "metric_time[gte]=2026-01-15",
  "payment__settled_on[lt]=2026-04-01",
  "start_date=2026-01-10",
  "end_date=2026-03-15",
  "start_date=2026-02-01&end_date=2026-02-28",
];
const AGGREGATE_GROUPS = [
  "bridge_id",
  "token",
  "status",
  "refunded",
  "created_at__day",
  "created_at__week",
  "created_at__month",
  "settled_on__quarter",
  "settled_on__year",
];
const MEASURES = [
  "payments",
  "volume",
  "volume_usd",
  "fees",
  "units",
  "payers",
  "refunds",
  "smallest",
  "largest",
  "average",
  "median_usd",
];

/** Random requests to the endpoints of pay. */
export function requestsOf(manifest: object, count: number, seed = 54): readonly string[] {
  const random = seeded(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const some = (list: readonly string[], most: number): readonly string[] => [
    ...new Set(Array.from({ length: Math.floor(random() * (most + 1)) }, () => pick(list))),
  ];
  const { metrics } = manifest as { metrics: Record<string, { name: string; config: { tags: string[] } }> };
  const paths = Object.values(metrics)
    .filter(({ name }) => !OF_POSTGRES.has(name))
    .map(
      ({ config: { tags } }) =>
        `/v1/${tags[1] ?? ""}/${tags.find((tag) => tag.startsWith("api:"))?.slice(4) ?? ""}`,
    );
  return Array.from({ length: count }, () => {
    const isModel = random() < 0.25;
    const groups = some(isModel ? AGGREGATE_GROUPS : GROUPS, 2);
    const measures = isModel ? [pick(MEASURES), ...some(MEASURES, 4)] : [];
    const filters = isModel
      ? some(["status=settled", "token=GNO,EURe", "amount_usd[gte]=300"], 1)
      : some(FILTERS, 1);
    const parts = [
      ...(groups.length > 0 ? [`group_by=${groups.join(",")}`] : []),
      ...(measures.length > 0 ? [`measures=${[...new Set(measures)].join(",")}`] : []),
      ...filters,
    ];
    return `${isModel ? "/v1/payments/payments" : pick(paths)}?${parts.join("&")}`;
  });
}

type Row = Readonly<Record<string, string | null>>;

interface Asked {
  readonly status: number;
  readonly text: string;
  readonly rows: readonly Row[];
}

/** The rows of a request; numbers are texts with the digits that were sent. */
export function askedRows(url: string, request: string, key: string): Promise<Asked> {
  return new Promise((resolve, reject) => {
    const sent = send(`${url}${request}`, { headers: { "X-API-Key": key } }, (response) => {
      let text = "";
      response.on("data", (chunk: Buffer) => (text += chunk.toString()));
      response.on("end", () => {
        const status = response.statusCode ?? 0;
        resolve({ status, text, rows: status === 200 ? rowsOf(text) : [] });
      });
    });
    sent.on("error", reject);
    sent.end();
  });
}

/** Digits as they were sent: `JSON.parse` would round them. */
export function rowsOf(text: string): readonly Row[] {
  const quoted = text.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false/g, (token) =>
    token.startsWith('"') ? token : `"${token}"`,
  );
  return JSON.parse(quoted) as readonly Row[];
}

const NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Equal, or numbers that differ by less than 1e-9. */
export function isSameRow(wanted: Row, got: Row): boolean {
  const names = Object.keys(wanted);
  return (
    names.length === Object.keys(got).length &&
    names.every((name) => isSameValue(wanted[name] ?? null, got[name] ?? null))
  );
}

export function isSameValue(wanted: string | null, got: string | null): boolean {
  if (wanted === got) return true;
  if (wanted === null || got === null || !NUMBER.test(wanted) || !NUMBER.test(got)) return false;
  if (trimmed(wanted) === trimmed(got)) return true;
  const isExact = /^-?\d+$/.test(wanted) && /^-?\d+$/.test(got);
  return !isExact && Math.abs(Number(wanted) - Number(got)) <= 1e-9 * Math.max(1, Math.abs(Number(wanted)));
}

/** Without the zeros behind the point. */
const trimmed = (text: string): string => (/^-?\d+\.\d+$/.test(text) ? text.replace(/\.?0+$/, "") : text);
