import type { CatalogueEndpoint } from "../../pages/catalogue-body.js";
import { type Annotations, propertyAnnotations, setAnnotations, textOf } from "./annotations.js";
import type { EdmType } from "./edm-types.js";
import type { OdataProperty, OdataSet } from "./sets.js";

/** A set as `$metadata` describes it, in XML and in JSON. */
export interface DescribedSet {
  readonly name: string;
  /** Names of properties; null: a function that returns a collection. */
  readonly keys: readonly string[] | null;
  /** Whether rows have properties that are not declared: OData 4.0 has no type for them. */
  readonly isOpen: boolean;
  readonly properties: readonly DescribedProperty[];
  readonly rowAnnotations: Annotations;
  readonly setAnnotations: Annotations;
}

export interface DescribedProperty {
  readonly name: string;
  readonly type: EdmType;
  readonly isNullable: boolean;
  readonly annotations: Annotations;
}

/** A set with the types of its properties. `version`: what the client reads. */
export function describedSet(
  set: OdataSet,
  typeOf: (property: OdataProperty) => EdmType,
  endpoint: CatalogueEndpoint,
  version: "4.0" | "4.01",
): DescribedSet {
  const columns = new Map(endpoint.columns.map((column) => [column.name, column]));
  const keys = new Set(set.keys?.map(({ name }) => name));
  const all = set.properties.map((property) => ({
    name: property.name,
    type: typeOf(property),
    isNullable: !keys.has(property.name),
    annotations: propertyAnnotations(property, columns.get(property.column.name)),
  }));
  const properties = version === "4.01" ? all : all.filter(({ type }) => type.name !== "Edm.Untyped");
  return {
    name: set.name,
    keys: set.keys && [...keys],
    isOpen: properties.length < all.length,
    properties,
    rowAnnotations: textOf(endpoint.title),
    setAnnotations: setAnnotations(set, endpoint),
  };
}
