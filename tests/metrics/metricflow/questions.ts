import { KEYS } from "../../support/service.js";
import { askedRows } from "../random-requests.js";
import type { MetricFlowRequest } from "./oracle.js";

const PATH = "/v1/all/all";
const GRAINS = ["minute", "hour", "day", "week", "month", "quarter", "year"];

const isDatePart = /__extract_/;

interface Question {
  readonly path: string;
  readonly asked: MetricFlowRequest;
}

interface Filter {
  readonly parameter: string;
  readonly where: string;
}

interface Metric {
  readonly name: string;
  readonly type: string;
  readonly type_params: object;
}

interface TimeSpine {
  readonly custom_granularities?: readonly { readonly name: string }[];
}

interface Manifest {
  readonly nodes: Readonly<Record<string, { readonly time_spine?: TimeSpine | null }>>;
  readonly metrics: Readonly<Record<string, Metric>>;
  readonly semantic_models: Readonly<
    Record<string, { readonly entities: readonly { readonly name: string }[] }>
  >;
}

/** Random requests to the endpoint of all metrics of a project, in the words of the API and in those of MetricFlow. */
export class Questions {
  readonly #url: string;
  readonly #random: () => number;
  readonly #custom: readonly string[];
  readonly #metrics: readonly string[];
  readonly #entities: ReadonlySet<string>;
  readonly #listed: (metrics: readonly string[]) => Promise<readonly string[]>;
  readonly #groups = new Map<string, readonly string[]>();
  readonly #values = new Map<string, readonly string[]>();
  /** MetricFlow multiplies the rows of an all-time metric that is bounded without its time. */
  readonly #allTime: ReadonlySet<string>;
  /** Metrics with rows of the time spine, to which MetricFlow joins results by one of their times alone. */
  readonly #onSpine: ReadonlySet<string>;

  constructor(
    url: string,
    manifest: unknown,
    random: () => number,
    groupsOf?: (metrics: readonly string[]) => Promise<readonly string[]>,
  ) {
    const { nodes, metrics, semantic_models: models } = manifest as Manifest;
    this.#custom = Object.values(nodes).flatMap((node) =>
      (node.time_spine?.custom_granularities ?? []).map(({ name }) => name),
    );
    this.#url = url;
    this.#random = random;
    this.#listed = groupsOf ?? ((names) => this.#listedByApi(names));
    this.#metrics = Object.values(metrics).map(({ name }) => name);
    this.#allTime = new Set(
      Object.values(metrics).flatMap(({ name, type }) => (type === "cumulative" ? [name] : [])),
    );
    this.#onSpine = onSpine(Object.values(metrics));
    this.#entities = new Set(
      Object.values(models).flatMap(({ entities }) => entities.map(({ name }) => name)),
    );
  }

  async next(): Promise<Question> {
    const metrics = this.#some(this.#metrics, 1 + this.#below(3));
    const groups = await this.#groupsOf(metrics);
    const some = this.#some(groups, this.#below(4));
    // A week belongs to two months: MetricFlow takes the larger part of an offset week, where this API takes the whole.
    // Neither follows from a longer period of the same time.
    const isPart = (name: string): boolean => isDatePart.test(name) || this.#customOf(name) !== undefined;
    const times = some.filter((name) => isPart(name) || withoutGrain(name) !== name);
    const hasPartsToo = times.length === 1 || !metrics.some((name) => this.#onSpine.has(name));
    const asked = some.filter((name) =>
      isPart(name)
        ? hasPartsToo
        : !name.endsWith("__week") || !some.some((each) => /__(month|quarter|year)$/.test(each)),
    );
    const hasTime = asked.some((name) => name.startsWith("metric_time"));
    const isBounded = hasTime || !metrics.some((name) => this.#allTime.has(name));
    const filters = [
      ...(isBounded && groups.includes("metric_time__day") ? await this.#range(metrics) : []),
      ...(await this.#filters(metrics, groups, isBounded)),
    ];
    const parts = [
      `metrics=${metrics.join(",")}`,
      "limit=50000",
      ...(asked.length > 0 ? [`group_by=${asked.join(",")}`] : []),
      ...filters.map(({ parameter }) => parameter),
    ];
    const where = filters.map((filter) => filter.where);
    return { path: `${PATH}?${parts.join("&")}`, asked: { metrics, group_by: asked, where } };
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count);
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#below(list.length)] as T;
  }

  #some<T>(list: readonly T[], count: number): readonly T[] {
    return list.length === 0 ? [] : [...new Set(Array.from({ length: count }, () => this.#pick(list)))];
  }

  /** What all of these metrics can be grouped by. */
  async #groupsOf(metrics: readonly string[]): Promise<readonly string[]> {
    const key = metrics.join(",");
    const names = this.#groups.get(key) ?? (await this.#listed(metrics));
    this.#groups.set(key, names);
    return names;
  }

  async #listedByApi(metrics: readonly string[]): Promise<readonly string[]> {
    const path = `${PATH}?metrics=${metrics.join(",")}&group_by=none`;
    const { text } = await askedRows(this.#url, path, KEYS.tier3);
    return (/among: (.*)\."/.exec(text)?.[1] ?? "").split(", ").filter((name) => name !== "");
  }

  async #valuesOf(metric: string, group: string): Promise<readonly string[]> {
    const known = this.#values.get(group);
    if (known !== undefined) return known;
    const { rows } = await askedRows(this.#url, `${PATH}?metrics=${metric}&group_by=${group}`, KEYS.tier3);
    const values = rows.map((row) => row[group] ?? null).filter((value) => value !== null && value !== "");
    this.#values.set(group, values as readonly string[]);
    return values as readonly string[];
  }

  async #range([metric = ""]: readonly string[]): Promise<readonly Filter[]> {
    const days = await this.#valuesOf(metric, "metric_time__day");
    const bound = (name: string, operator: string): readonly Filter[] => {
      if (this.#random() < 0.6 || days.length === 0) return [];
      const day = this.#pick(days);
      return [
        {
          parameter: `${name}=${day}`,
          where: `{{ TimeDimension('metric_time', 'day') }} ${operator} '${day}'`,
        },
      ];
    };
    return [...bound("start_date", ">="), ...bound("end_date", "<=")];
  }

  async #filters(
    [metric = ""]: readonly string[],
    groups: readonly string[],
    ofTimes: boolean,
  ): Promise<readonly Filter[]> {
    const others = groups.filter((name) => !name.startsWith("metric_time"));
    const found: Filter[] = [];
    for (const name of new Set(this.#some(others, this.#below(3)).map(withoutGrain))) {
      const grain = GRAINS.find((each) => groups.includes(`${name}__${each}`));
      const isOfTime = (grain ?? this.#customOf(name)) !== undefined || isDatePart.test(name);
      if (isOfTime && !ofTimes) continue;
      const values = await this.#valuesOf(metric, grain === undefined ? name : `${name}__${grain}`);
      if (values.length === 0) continue;
      const column = grain === undefined ? this.#reference(name) : reference("TimeDimension", name, grain);
      found.push(this.#filter(name, column, values, grain !== undefined));
    }
    return found;
  }

  #filter(name: string, column: string, values: readonly string[], isTime: boolean): Filter {
    const value = this.#pick(values);
    const text = `'${value.replaceAll("'", "''").replace(/Z$/, "")}'`;
    const sent = encodeURIComponent(value);
    const kinds: readonly Filter[] = [
      { parameter: `${name}[null]=true`, where: `${column} is null` },
      { parameter: `${name}[null]=false`, where: `${column} is not null` },
      ...(isTime
        ? [
            { parameter: `${name}[gte]=${sent}`, where: `${column} >= ${text}` },
            { parameter: `${name}[lt]=${sent}`, where: `${column} < ${text}` },
          ]
        : [
            { parameter: `${name}=${sent}`, where: `${column} = ${text}` },
            { parameter: `${name}[ne]=${sent}`, where: `${column} <> ${text}` },
            { parameter: `${name}[in]=${sent}`, where: `${column} in (${text})` },
          ]),
    ];
    return this.#pick(kinds);
  }

  /** The custom period that a name ends with. */
  #customOf(name: string): string | undefined {
    return this.#custom.find((each) => name.endsWith(`__${each}`));
  }

  #reference(name: string): string {
    const custom = this.#customOf(name);
    if (custom !== undefined) return reference("TimeDimension", name.slice(0, -2 - custom.length), custom);
    const [time = "", part] = name.split(isDatePart);
    if (part !== undefined) return reference("TimeDimension", time, undefined, part);
    const elements = name.split("__");
    const last = elements.at(-1) ?? "";
    if (!this.#entities.has(last)) return reference("Dimension", name);
    const path = elements.slice(0, -1).map((each) => `'${each}'`);
    return `{{ Entity('${last}'${path.length > 0 ? `, entity_path=[${path.join(", ")}]` : ""}) }}`;
  }
}

/** MetricFlow reads one entity in the name of a dimension, those before it in a list. */
function reference(kind: "Dimension" | "TimeDimension", name: string, grain?: string, part?: string): string {
  const elements = name.split("__");
  const path = elements.slice(0, -2).map((each) => `'${each}'`);
  const parameters = [
    `'${elements.slice(-2).join("__")}'`,
    ...(grain === undefined ? [] : [`'${grain}'`]),
    ...(part === undefined ? [] : [`date_part_name='${part}'`]),
    ...(path.length > 0 ? [`entity_path=[${path.join(", ")}]`] : []),
  ];
  return `{{ ${kind}(${parameters.join(", ")}) }}`;
}

/** Metrics with `join_to_timespine` or an offset, and those that are made of them. */
function onSpine(metrics: readonly Metric[]): ReadonlySet<string> {
  const found = new Set<string>();
  for (let before = -1; before < found.size;) {
    before = found.size;
    for (const { name, type_params: parameters } of metrics) {
      const text = JSON.stringify(parameters);
      const names = [...text.matchAll(/"name":"(\w+)"/g)].map(([, each = ""]) => each);
      const isOwn = /"join_to_timespine":true|"offset_window":[{"]|"offset_to_grain":"/.test(text);
      if (isOwn || names.some((each) => each !== name && found.has(each))) found.add(name);
    }
  }
  return found;
}

function withoutGrain(name: string): string {
  const [, dimension = name, grain = ""] = /^(.*)__(\w+?)$/.exec(name) ?? [];
  return GRAINS.includes(grain) ? dimension : name;
}
