import { expressionOperators } from "../../core/model/filter-text.js";
import type { CatalogueEndpoint } from "../../pages/catalogue-body.js";
import { unitOf } from "../../pages/units.js";
import { keyFilters } from "./filter.js";
import { propertyName } from "./names.js";
import type { OdataProperty, OdataSet } from "./sets.js";

/** A value of an annotation (OData CSDL 4.01, 14.3 and 14.4). */
export type AnnotationValue =
  | string
  | boolean
  | { readonly path: string }
  | { readonly member: string; readonly of: string }
  | readonly AnnotationValue[]
  | { readonly record: Readonly<Record<string, AnnotationValue>> };

/** By term, such as `Core.Description`. */
export type Annotations = Readonly<Record<string, AnnotationValue>>;

/** The vocabularies that annotations name, by alias. */
export const VOCABULARIES: readonly (readonly [alias: string, namespace: string])[] = [
  ["Core", "Org.OData.Core.V1"],
  ["Capabilities", "Org.OData.Capabilities.V1"],
  ["Measures", "Org.OData.Measures.V1"],
  ["Validation", "Org.OData.Validation.V1"],
  ["Aggregation", "Org.OData.Aggregation.V1"],
];

const record = (entries: Readonly<Record<string, AnnotationValue>>) => ({ record: entries });
const paths = (properties: readonly OdataProperty[]) => properties.map(({ name }) => ({ path: name }));

/** What the service as a whole offers. */
export const SERVICE_ANNOTATIONS: Annotations = {
  "Core.ODataVersions": "4.0,4.01",
  "Capabilities.ConformanceLevel": {
    member: "Intermediate",
    of: "Org.OData.Capabilities.V1.ConformanceLevelType",
  },
  "Capabilities.SupportedFormats": ["application/json;odata.metadata=minimal;IEEE754Compatible=true"],
  "Capabilities.AsynchronousRequestsSupported": false,
  "Capabilities.BatchSupported": true,
  "Capabilities.BatchSupport": record({
    Supported: true,
    SupportedFormats: ["application/json", "multipart/mixed"],
  }),
  "Capabilities.CrossJoinSupported": false,
  "Capabilities.KeyAsSegmentSupported": false,
  "Capabilities.FilterFunctions": [
    ...new Set((["text", "date-time"] as const).flatMap(expressionOperators)),
  ].filter((name) => name.length > 2),
};

/** What an endpoint offers of OData: all that it does not is said. */
export function setAnnotations(
  set: OdataSet,
  { description }: Pick<CatalogueEndpoint, "description">,
): Annotations {
  const { spec } = set.endpoint;
  return {
    ...textOf(description),
    "Capabilities.TopSupported": true,
    "Capabilities.SkipSupported": spec.pagination !== null,
    "Capabilities.IndexableByKey": keyFilters(set) !== null,
    "Capabilities.CountRestrictions": record({ Countable: !set.isOfGroups }),
    "Capabilities.SelectSupport": record({ Supported: spec.fields === true }),
    "Capabilities.FilterRestrictions": filterRestrictions(set),
    "Capabilities.SortRestrictions": sortRestrictions(set),
    "Capabilities.ExpandRestrictions": record({ Expandable: false }),
    "Capabilities.SearchRestrictions": record({ Searchable: false }),
    "Capabilities.InsertRestrictions": record({ Insertable: false }),
    "Capabilities.UpdateRestrictions": record({ Updatable: false }),
    "Capabilities.DeleteRestrictions": record({ Deletable: false }),
    ...readRestrictions(set),
    ...aggregation(set),
  };
}

function filterRestrictions({ endpoint: { spec }, properties }: OdataSet): AnnotationValue {
  const isFilterable = spec.filter === true;
  const filtered = new Set(spec.filters?.map(({ column }) => column));
  const others = properties.filter(({ column }) => !filtered.has(column.name));
  return record({
    Filterable: isFilterable,
    ...(!spec.allowUnfiltered && { RequiresFilter: true }),
    ...(isFilterable && others.length > 0 && { NonFilterableProperties: paths(others) }),
  });
}

function sortRestrictions({ endpoint: { spec }, properties }: OdataSet): AnnotationValue {
  const sortable = new Set(spec.sortableFields);
  const others = properties.filter(({ column }) => !sortable.has(column.name));
  return record({
    Sortable: sortable.size > 0,
    ...(sortable.size > 0 && others.length > 0 && { NonSortableProperties: paths(others) }),
  });
}

/** What `$apply` takes: the groups and the measures of the endpoint, by their names. */
function aggregation({ endpoint: { spec }, properties, isOfGroups }: OdataSet): Annotations {
  const { aggregate } = spec;
  if (aggregate === undefined || aggregate.saved !== undefined) return {};
  const measures = new Set(aggregate.measures.map(({ name }) => name));
  const groups = new Set(aggregate.measures.flatMap((measure) => measure.groups.map(({ name }) => name)));
  const isGroup = (name: string): boolean => (isOfGroups ? !measures.has(name) : groups.has(name));
  return {
    "Aggregation.ApplySupported": record({
      Transformations: ["filter", "groupby", "aggregate", "concat", "topcount", "bottomcount"],
      Rollup: { member: "SingleHierarchy", of: "Org.OData.Aggregation.V1.RollupType" },
      GroupableProperties: paths(properties.filter(({ column }) => isGroup(column.name))),
    }),
    ...Object.fromEntries(
      aggregate.measures.map(({ name }) => [
        `Aggregation.CustomAggregate#${propertyName(name)}`,
        "Edm.PrimitiveType",
      ]),
    ),
  };
}

/** The parameters of the endpoint are custom query options. */
function readRestrictions({ endpoint: { spec } }: OdataSet): Annotations {
  if (spec.parameters.length === 0) return {};
  const options = spec.parameters.map(({ name, column, operator }) =>
    record({
      Name: name,
      Description: `${column} ${operator}`,
      ...(spec.requireAnyOf.length === 1 && spec.requireAnyOf.includes(name) && { Required: true }),
    }),
  );
  return { "Capabilities.ReadRestrictions": record({ Readable: true, CustomQueryOptions: options }) };
}

/** What a column is: its description, unit and accepted values. */
export function propertyAnnotations(
  { column: { name }, type }: OdataProperty,
  described: CatalogueEndpoint["columns"][number] | undefined,
): Annotations {
  const { description = "", accepted_values: values = [] } = described ?? {};
  return {
    ...textOf(description),
    ...(type?.name !== "Edm.Date" && unitAnnotations(name, description)),
    ...(values.length > 0 && {
      "Validation.AllowedValues": values.map((value) => record({ Value: value })),
    }),
  };
}

const CURRENCIES: Readonly<Record<string, string>> = {
  $: "USD",
  "€": "EUR",
  "£": "GBP",
  CHF: "CHF",
  JPY: "JPY",
};

function unitAnnotations(name: string, description: string): Annotations {
  const { before, behind } = unitOf({ name, description });
  const unit = (before || behind).trim();
  if (unit === "") return {};
  const currency = CURRENCIES[unit];
  return currency === undefined ? { "Measures.Unit": unit } : { "Measures.ISOCurrency": currency };
}

export const textOf = (description: string): Annotations =>
  description.trim() === "" ? {} : { "Core.Description": printable(description.trim()) };

/** Characters that XML 1.0 has not, also halves of others. */
const NO_XML = /[^\t\n\r\u{20}-\u{D7FF}\u{E000}-\u{FFFD}\u{10000}-\u{10FFFF}]/gu;

export const printable = (text: string): string => text.replace(NO_XML, "\uFFFD");
