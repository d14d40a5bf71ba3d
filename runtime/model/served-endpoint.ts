import { filterParameters } from "./column-filters.js";
import { type Column, type Endpoint, type FilterParameter, PAGE_FIELDS, SORT_FIELDS } from "./endpoint.js";
import { Projection } from "./projection.js";
import type { JsonFormat } from "./query.js";

/** A filter of an endpoint, with the time zone that its column declares. */
export type ServedFilter = FilterParameter & { readonly timezone?: string };

/** Choices of columns that are remembered: plans of statements are kept by them. Further ones are made for each request. */
const MAX_CHOICES = 100;

/** An endpoint as requests are served from it: compiled once, when its module is loaded. */
export class ServedEndpoint {
  readonly spec: Endpoint;
  /** Everything that its rows can be filtered by, in the declared order. */
  readonly filters: readonly ServedFilter[];
  /** All its columns. */
  readonly all: Projection;
  /** The form of its JSON where a request does not say which. */
  readonly json: JsonFormat;
  /** The columns of its groups: those that are asked. */
  readonly grouped = new Projection([]);
  readonly #names: ReadonlySet<string>;
  /** Bounded by `MAX_CHOICES`, by names of columns that it has. */
  readonly #choices: Map<string, Projection>;

  /** `own`: the same endpoint at its own path, where this is a former one. */
  constructor(spec: Endpoint, own: ServedEndpoint | null = null) {
    this.spec = spec;
    this.filters = own?.filters ?? filterParameters(spec).map((parameter) => withTimezone(spec, parameter));
    const hasOwn = spec.columns.some(({ numbers }) => numbers !== undefined);
    this.all =
      own?.all ??
      new Projection(hasOwn ? spec.columns.map((column) => withNumbers(spec, column)) : spec.columns);
    this.json = hasOwn ? "json-declared" : jsonOf(spec);
    this.#names = own === null ? namesOf(spec, this.filters) : own.#names;
    this.#choices = own === null ? new Map<string, Projection>() : own.#choices;
  }

  /** Whether a request may have a parameter of this name. */
  takes(name: string): boolean {
    return this.#names.has(name);
  }

  /** The columns of these names in their order; null where it does not have one of them. */
  choose(names: readonly string[]): Projection | null {
    // A list may name a column 1,000 times.
    const different = [...new Set(names)];
    const key = different.join("\0");
    const known = this.#choices.get(key);
    if (known !== undefined) return known;
    const { columns } = this.all;
    const chosen = different.map((name) => columns.find((column) => column.name === name));
    const found = chosen.filter((column) => column !== undefined);
    if (found.length < chosen.length) return null;
    const made = new Projection(found);
    if (this.#choices.size < MAX_CHOICES) this.#choices.set(key, made);
    return made;
  }
}

/** The form of JSON that an endpoint as a whole has by default. */
export function jsonOf({ numbers }: Pick<Endpoint, "numbers">): JsonFormat {
  return numbers === "string" ? "json-strings" : "json";
}

function withNumbers(spec: Endpoint, column: Column): Column {
  return { ...column, numbers: column.numbers ?? spec.numbers ?? "number" };
}

function withTimezone({ columns }: Endpoint, parameter: FilterParameter): ServedFilter {
  const { timezone } = columns.find(({ name }) => name === parameter.column) ?? {};
  return timezone === undefined ? parameter : { ...parameter, timezone };
}

/** Sort fields are known everywhere but without `meta.api`: an endpoint that cannot sort has an error of its own for them. */
function namesOf(
  { fields, legacy, cursor, pagination }: Endpoint,
  filters: readonly ServedFilter[],
): ReadonlySet<string> {
  return new Set([
    ...filters.map(({ name }) => name),
    ...(fields ? ["fields"] : []),
    ...(legacy ? [] : SORT_FIELDS),
    ...(cursor ? ["cursor"] : []),
    ...(pagination === null ? [] : PAGE_FIELDS),
  ]);
}
