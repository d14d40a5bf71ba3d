import {
  AGGREGATE_OPTIONS,
  DOCUMENTS,
  EXPRESSIONS,
  FORMATS,
  GROUP_OPTIONS,
  METRIC_EXPRESSIONS,
  METRIC_FILTERS,
  METRIC_GROUPS,
  RATE_FILTERS,
  ROWS,
  ROW_FILTERS,
  ROW_OPTIONS,
  SUFFIXES,
  type Pool,
} from "./question-pools.js";
import { METRIC_NAMES } from "./tenant-manifest.js";

/** By their keys; `nobody` has none. */
export const CALLERS = ["acme", "acme0", "other", "all", "partner", "listed", "nobody"] as const;
export type CallerName = (typeof CALLERS)[number];

export type Surface = (typeof SURFACES)[number];
const SURFACES = [
  ...["native", "native", "native", "native", "native", "native", "body", "query"],
  ...["values", "facets", "chart", "odata", "apply", "count", "key", "batch"],
  ...[
    "query_endpoint",
    "query_metrics",
    "list_values",
    "chart_endpoint",
    "summarize_endpoint",
    "search_endpoints",
  ],
  "document",
] as const;

/** What is asked, before it is written for a surface. */
export interface Question {
  readonly surface: Surface;
  readonly caller: CallerName;
  /** Name of the endpoint. */
  readonly endpoint: string;
  readonly fields: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly method: "GET" | "HEAD";
  readonly suffix: string;
  /** Others that a batch has. */
  readonly others?: readonly Question[];
}

export class RandomQuestions {
  readonly #random: () => number;
  readonly #last: Question[] = [];

  constructor(random: () => number) {
    this.#random = random;
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random() * list.length)] as T;
  }

  is(share: number): boolean {
    return this.#random() < share;
  }

  #caller(): CallerName {
    return this.is(0.8) ? this.pick(["acme", "acme0", "other", "all"] as const) : this.pick(CALLERS);
  }

  /** Mostly one that was asked before: by another caller, or with another value. */
  next(): Question {
    const before = this.#last.length > 0 && this.is(0.85) ? this.pick(this.#last) : null;
    const question = before === null ? this.#fresh() : this.#changed(before);
    this.#last.push(question);
    if (this.#last.length > 12) this.#last.shift();
    return question;
  }

  #fresh(): Question {
    const surface = this.pick(SURFACES);
    const ofMetrics = surface === "query_metrics" || surface === "apply";
    const endpoint = this.is(ofMetrics ? 0.6 : 0.4)
      ? this.pick([...METRIC_NAMES, "by_country"])
      : this.pick(ROWS);
    const isSent = (surface === "body" || surface === "query") && this.is(0.9);
    const readsRows =
      ["odata", "count", "key", "batch", "chart", "chart_endpoint"].includes(surface) && this.is(0.9);
    const asked = isSent
      ? this.pick(["orders", "orders_any", "sums"])
      : readsRows
        ? this.pick(["orders", "orders", "orders_any", "sums", "rates", "premium"])
        : endpoint;
    const question = {
      ...{ surface, caller: this.#caller() },
      endpoint: surface === "document" ? this.pick(DOCUMENTS) : asked,
      fields: surface === "document" ? {} : this.#fields(asked),
      headers: this.pick(FORMATS),
      method: this.is(0.05) ? ("HEAD" as const) : ("GET" as const),
      suffix: surface === "native" ? this.pick(SUFFIXES) : "",
    };
    if (surface !== "batch") return question;
    const others = [0, 1].map(() => ({
      ...this.#fresh(),
      surface: this.pick(["odata", "apply", "count"] as const),
    }));
    return { ...question, others };
  }

  #fields(endpoint: string): Question["fields"] {
    const found: Record<string, string> = {};
    const some = (pool: Pool, most: number): void => {
      for (let left = Math.floor(this.#random() * (most + 1)); left > 0; left--) {
        const name = this.pick(Object.keys(pool));
        found[name] = this.pick(pool[name] ?? []);
      }
    };
    if (endpoint === "orders_whole" && this.is(0.9)) return found;
    if (ROWS.includes(endpoint)) {
      const ofRates = endpoint === "rates" || endpoint === "premium";
      some(ofRates ? RATE_FILTERS : ROW_FILTERS, 2);
      if (!ofRates && this.is(0.35)) found["filter"] = this.#expression(EXPRESSIONS);
      if (["sums", "grouped"].includes(endpoint) && this.is(0.85)) {
        some(AGGREGATE_OPTIONS, 3);
        some(GROUP_OPTIONS, 1);
        if (found["compare"])
          Object.assign(found, { since: "2026-02-01", until: this.pick(["2026-02-28", "2026-03-15"]) });
        if (found["totals"]) found["group_by"] ??= "country";
        if (found["n[gte]"] ?? found["total[gt]"]) found["measures"] = this.pick(["total,n", "n,total"]);
        if (found["top"] ?? found["other"])
          Object.assign(found, {
            top: found["top"] ?? "2",
            group_by: found["group_by"] ?? "note",
            sort_by: (found["measures"] ?? "n").split(",")[0],
          });
      } else some(ROW_OPTIONS, 2);
      if (found["sort_by"] === undefined) delete found["sort_direction"];
      return found;
    }
    if (endpoint === "by_country") return found;
    some(METRIC_FILTERS, 2);
    if (endpoint !== "visits") delete found["visit__channel"];
    else delete found["order__note"];
    const groups = METRIC_GROUPS.filter(
      (each) => !each.startsWith(endpoint === "visits" ? "order__" : "visit__"),
    );
    if (this.is(0.75))
      found["group_by"] = [...new Set([this.pick(groups), this.pick(groups)])]
        .slice(this.is(0.6) ? 1 : 0)
        .join(",");
    if (this.is(0.2)) found["filter"] = this.#expression(METRIC_EXPRESSIONS);
    some(GROUP_OPTIONS, 1);
    if (found["compare"])
      Object.assign(found, {
        start_date: this.pick(["2026-02-01", "2026-02-10"]),
        end_date: this.pick(["2026-02-28", "2026-03-11"]),
      });
    if (found["top"] ?? found["other"])
      Object.assign(found, {
        top: found["top"] ?? "1",
        sort_by: endpoint,
        group_by: found["group_by"] ?? "customer",
      });
    if (found["totals"]) found["group_by"] ??= "org_id";
    if (["of_week", "growth", "quarter_ago"].includes(endpoint) && this.is(0.9))
      found["group_by"] = [
        `metric_time__${this.pick(["day", "month"])}`,
        ...(this.is(0.4) ? [this.pick(["customer", "org_id", "customer__country__region"])] : []),
      ].join(",");
    if (this.is(0.15)) found[`${endpoint}[gt]`] = this.pick(["0", "3", "300"]);
    return found;
  }

  #expression(atoms: readonly string[]): string {
    const [a, b, c] = [this.pick(atoms), this.pick(atoms), this.pick(atoms)];
    return this.pick([
      a,
      a,
      `${a} and ${b}`,
      `${a} or ${b}`,
      `not (${a})`,
      `not (${a}) and (${b} or ${c})`,
      `(${a} or ${b}) and ${c}`,
    ]);
  }

  /** A caller of all organizations filters by one; one of an organization asks the same without the filter. */
  #likeAnother(before: Question): Question {
    const name = this.#ownFilter(before.endpoint);
    const { [name]: org = this.pick(["acme", "other"] as const), ...fields } = before.fields;
    return this.is(0.5)
      ? { ...before, caller: org as CallerName, fields }
      : { ...before, caller: "all", fields: { ...fields, [name]: org } };
  }

  #ownFilter(endpoint: string): string {
    if (!ROWS.includes(endpoint)) return "org_id";
    return this.pick(["org_id[eq]", "org_id[eq]", "org_id[in]"]);
  }

  #changed(before: Question): Question {
    const caller = this.#caller();
    if (this.is(0.3)) return this.#likeAnother(before);
    if (this.is(0.5)) return { ...before, caller };
    if (this.is(0.3)) return { ...before, headers: this.pick(FORMATS) };
    const names = Object.keys(before.fields);
    if (names.length === 0 || this.is(0.2))
      return {
        ...before,
        surface:
          before.surface === "document"
            ? "document"
            : this.pick(SURFACES.filter((each) => each !== "document" && each !== "batch")),
      };
    const name = this.pick(names);
    const pool = [
      ROW_FILTERS,
      ROW_OPTIONS,
      AGGREGATE_OPTIONS,
      METRIC_FILTERS,
      GROUP_OPTIONS,
      RATE_FILTERS,
    ].find((each) => name in each);
    const isKept = pool !== undefined && this.is(0.75);
    return {
      ...before,
      caller,
      fields: isKept
        ? { ...before.fields, [name]: this.pick(pool[name] ?? []) }
        : without(before.fields, name),
    };
  }
}

/** A record without some of its names. */
export function without<T>(
  record: Readonly<Record<string, T>>,
  ...names: readonly string[]
): Record<string, T> {
  return Object.fromEntries(Object.entries(record).filter(([name]) => !names.includes(name)));
}
