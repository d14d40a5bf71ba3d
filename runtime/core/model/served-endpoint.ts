import type { ServedAggregate } from "./aggregate/aggregate.js";
import { filterParameters } from "./column-operators.js";
import {
  type Column,
  type Endpoint,
  type FilterParameter,
  PAGE_FIELDS,
  REQUIRE_FRESH,
  SORT_FIELDS,
} from "./endpoint.js";
import { Projection } from "./projection.js";
import { type JsonFormat, withDigest } from "./query.js";

/** A filter of an endpoint, with the time zone that its column declares. */
export type ServedFilter = FilterParameter & { readonly timezone?: string };

/** An endpoint as requests are served from it: compiled once, when its module is loaded. */
export class ServedEndpoint {
  readonly spec: Endpoint;
  /** Everything that its rows can be filtered by, in the declared order. */
  readonly filters: readonly ServedFilter[];
  /** All its columns. */
  readonly all: Projection;
  /** The form of its JSON where a request does not say which. */
  readonly json: JsonFormat;
  readonly aggregate: ServedAggregate | undefined;
  /** The columns of its groups: those that are asked. */
  readonly grouped = new Projection([]);
  readonly #names: ReadonlySet<string>;

  /** `own`: the same endpoint at its own path, where this is a former one. */
  constructor(spec: Endpoint, own: ServedEndpoint | null = null) {
    this.spec = spec;
    this.filters = own?.filters ?? filterParameters(spec).map((parameter) => withTimezone(spec, parameter));
    const hasOwn = spec.columns.some(({ numbers }) => numbers !== undefined);
    this.all =
      own?.all ??
      new Projection(hasOwn ? spec.columns.map((column) => withNumbers(spec, column)) : spec.columns);
    this.aggregate = own === null ? spec.aggregate && withDigest(spec.aggregate) : own.aggregate;
    this.json = hasOwn ? "json-declared" : jsonOf(spec);
    this.#names = own === null ? namesOf(spec, this.filters) : own.#names;
  }

  /** Whether a request may have a parameter of this name. */
  takes(name: string): boolean {
    return this.#names.has(name);
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
  { filter, fields, legacy, cursor, pagination, requireFresh }: Endpoint,
  filters: readonly ServedFilter[],
): ReadonlySet<string> {
  return new Set([
    ...filters.map(({ name }) => name),
    ...(filter ? ["filter"] : []),
    ...(fields ? ["fields"] : []),
    ...(requireFresh ? [REQUIRE_FRESH] : []),
    ...(legacy ? [] : SORT_FIELDS),
    ...(cursor ? ["cursor"] : []),
    ...(pagination === null ? [] : PAGE_FIELDS),
  ]);
}
