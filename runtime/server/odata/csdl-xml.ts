import {
  type Annotations,
  type AnnotationValue,
  SERVICE_ANNOTATIONS,
  printable,
  VOCABULARIES,
} from "./annotations.js";
import { isList } from "./csdl-json.js";
import { CONTAINER, DATA, vocabularyAddress } from "./csdl-names.js";
import { ROWS } from "./set-request.js";
import type { DescribedProperty, DescribedSet } from "./schema.js";

/** `$metadata` as XML (OData CSDL XML 4.01), of the version that the client reads. */
export function csdlXml(sets: readonly DescribedSet[], version: "4.0" | "4.01"): string {
  const references = VOCABULARIES.map(
    ([alias, namespace]) =>
      `<edmx:Reference Uri="${vocabularyAddress(namespace, "xml")}"><edmx:Include Namespace="${namespace}" Alias="${alias}"/></edmx:Reference>\n`,
  );
  const container = element("EntityContainer", { Name: CONTAINER }, [
    ...sets.map(memberOf),
    ...annotated(SERVICE_ANNOTATIONS),
  ]);
  const functions = sets.filter(({ keys }) => keys === null).map(functionOf);
  const schema = (name: string, children: readonly string[]): string =>
    element("Schema", { Namespace: name, xmlns: "http://docs.oasis-open.org/odata/ns/edm" }, children);
  // Of no rows the schema would be empty.
  const schemas = [
    ...(sets.length === 0 ? [] : [schema(ROWS, sets.map(rowType))]),
    schema(DATA, [...functions, container]),
  ];
  return `<?xml version="1.0" encoding="utf-8"?>
<edmx:Edmx Version="${version}" xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx">
${references.join("")}<edmx:DataServices>
${schemas.join("\n")}
</edmx:DataServices>
</edmx:Edmx>
`;
}

type XmlAttributes = Readonly<Record<string, string | undefined>>;

function element(name: string, attributes: XmlAttributes, children: readonly string[] = []): string {
  const written = Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([key, value = ""]) => ` ${key}="${escaped(value)}"`)
    .join("");
  return children.length === 0
    ? `<${name}${written}/>`
    : `<${name}${written}>\n${children.join("\n")}\n</${name}>`;
}

const ENTITIES: Readonly<Record<string, string>> = {
  ...{ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" },
  ...{ "\t": "&#9;", "\n": "&#10;", "\r": "&#13;" },
};

export const escaped = (text: string): string =>
  printable(text).replace(/[&<>"\t\n\r]/g, (character) => ENTITIES[character] ?? "");

function rowType({ name, keys, isOpen, properties, rowAnnotations }: DescribedSet): string {
  const open = isOpen ? "true" : undefined;
  const children = [...properties.map(propertyOf), ...annotated(rowAnnotations)];
  if (keys === null) return element("ComplexType", { Name: name, OpenType: open }, children);
  const key = element(
    "Key",
    {},
    keys.map((each) => element("PropertyRef", { Name: each })),
  );
  return element("EntityType", { Name: name, OpenType: open }, [key, ...children]);
}

function propertyOf({ name, type, isNullable, annotations }: DescribedProperty): string {
  const { precision, scale, maxLength } = type;
  const attributes = {
    Name: name,
    Type: type.isCollection ? `Collection(${type.name})` : type.name,
    // Of a list it is said of what is in it, always.
    Nullable: type.isCollection ? "true" : isNullable ? undefined : "false",
    MaxLength: maxLength?.toString(),
    Precision: precision?.toString(),
    Scale: scale?.toString(),
  };
  return element("Property", attributes, annotated(annotations));
}

const functionOf = ({ name }: DescribedSet): string =>
  element("Function", { Name: name, IsComposable: "true" }, [
    element("ReturnType", { Type: `Collection(${ROWS}.${name})`, Nullable: "false" }),
  ]);

function memberOf({ name, keys, setAnnotations }: DescribedSet): string {
  const children = annotated(setAnnotations);
  return keys === null
    ? element(
        "FunctionImport",
        { Name: name, Function: `${DATA}.${name}`, IncludeInServiceDocument: "true" },
        children,
      )
    : element("EntitySet", { Name: name, EntityType: `${ROWS}.${name}` }, children);
}

function annotated(annotations: Annotations): readonly string[] {
  return Object.entries(annotations).map(([key, value]) => {
    const [term, qualifier] = key.split("#");
    const name = { Term: term, Qualifier: qualifier };
    const inline = attributeOf(value);
    return inline === null
      ? element("Annotation", name, [expression(value)])
      : element("Annotation", { ...name, ...inline });
  });
}

/** A value that is an attribute; null where it is an element. */
function attributeOf(value: AnnotationValue): XmlAttributes | null {
  if (typeof value === "string") return { String: value };
  if (typeof value === "boolean") return { Bool: String(value) };
  if (!isList(value) && "member" in value) return { EnumMember: `${value.of}/${value.member}` };
  return !isList(value) && "path" in value ? { PropertyPath: value.path } : null;
}

function expression(value: AnnotationValue): string {
  if (isList(value)) return element("Collection", {}, value.map(expression));
  if (typeof value === "object" && "record" in value) {
    const values = Object.entries(value.record).map(([name, each]) => {
      const inline = attributeOf(each);
      return inline === null
        ? element("PropertyValue", { Property: name }, [expression(each)])
        : element("PropertyValue", { Property: name, ...inline });
    });
    return element("Record", {}, values);
  }
  const [[name, text = ""] = ["String"]] = Object.entries(attributeOf(value) ?? {});
  return `<${name}>${escaped(text)}</${name}>`;
}
