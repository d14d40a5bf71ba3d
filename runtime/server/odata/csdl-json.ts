import { type Annotations, type AnnotationValue, SERVICE_ANNOTATIONS, VOCABULARIES } from "./annotations.js";
import { CONTAINER, DATA, vocabularyAddress } from "./csdl-names.js";
import { ROWS } from "./set-request.js";
import type { DescribedProperty, DescribedSet } from "./schema.js";

/** `$metadata` as JSON (OData CSDL JSON 4.01). */
export function csdlJson(sets: readonly DescribedSet[]): string {
  const references = VOCABULARIES.map(([alias, namespace]) => [
    vocabularyAddress(namespace, "json"),
    { $Include: [{ $Namespace: namespace, $Alias: alias }] },
  ]);
  return JSON.stringify({
    $Version: "4.01",
    $EntityContainer: `${DATA}.${CONTAINER}`,
    $Reference: Object.fromEntries(references) as object,
    [ROWS]: Object.fromEntries(sets.map((set) => [set.name, rowType(set)])),
    [DATA]: {
      ...Object.fromEntries(
        sets.filter(({ keys }) => keys === null).map((set) => [set.name, [functionOf(set)]]),
      ),
      [CONTAINER]: {
        $Kind: "EntityContainer",
        ...annotated(SERVICE_ANNOTATIONS),
        ...Object.fromEntries(sets.map((set) => [set.name, memberOf(set)])),
      },
    },
  });
}

function rowType({ keys, isOpen, properties, rowAnnotations }: DescribedSet): object {
  return {
    $Kind: keys === null ? "ComplexType" : "EntityType",
    ...(isOpen && { $OpenType: true }),
    ...(keys && { $Key: keys }),
    ...annotated(rowAnnotations),
    ...Object.fromEntries(properties.map((property) => [property.name, propertyOf(property)])),
  };
}

function propertyOf({ type, isNullable, annotations }: DescribedProperty): object {
  const { name, isCollection, precision, scale, maxLength } = type;
  return {
    ...(isCollection && { $Collection: true }),
    ...(name !== "Edm.String" && { $Type: name }),
    ...(isNullable && { $Nullable: true }),
    ...(maxLength !== undefined && { $MaxLength: maxLength }),
    ...(precision !== undefined && { $Precision: precision }),
    // Without it any digits may follow the point.
    ...(typeof scale === "number" && { $Scale: scale }),
    ...annotated(annotations),
  };
}

const functionOf = ({ name }: DescribedSet): object => ({
  $Kind: "Function",
  $IsComposable: true,
  $ReturnType: { $Collection: true, $Type: `${ROWS}.${name}` },
});

function memberOf({ name, keys, setAnnotations }: DescribedSet): object {
  const member =
    keys === null
      ? { $Function: `${DATA}.${name}`, $IncludeInServiceDocument: true }
      : { $Collection: true, $Type: `${ROWS}.${name}` };
  return { ...member, ...annotated(setAnnotations) };
}

function annotated(annotations: Annotations): object {
  return Object.fromEntries(Object.entries(annotations).map(([term, value]) => [`@${term}`, valueOf(value)]));
}

function valueOf(value: AnnotationValue): unknown {
  if (typeof value !== "object") return value;
  if (isList(value)) return value.map(valueOf);
  if ("path" in value) return value.path;
  if ("member" in value) return value.member;
  return Object.fromEntries(Object.entries(value.record).map(([name, each]) => [name, valueOf(each)]));
}

export function isList(value: AnnotationValue): value is readonly AnnotationValue[] {
  return Array.isArray(value);
}
