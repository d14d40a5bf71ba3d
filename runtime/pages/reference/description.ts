import { type Components, usedComponents } from "../used-components.js";

/** The parts of an OpenAPI document that the pages read. */
export interface Description {
  readonly info: { readonly description?: string; readonly "x-logo"?: unknown };
  readonly components?: Components;
  readonly servers: readonly { readonly url: string }[];
  readonly tags?: readonly { readonly name: string }[];
  readonly "x-tagGroups"?: readonly { readonly name: string; readonly tags: readonly string[] }[];
  readonly paths: Readonly<Record<string, DocumentedPath>>;
}

type DocumentedPath = Readonly<Record<string, ListedOperation>>;

export interface ListedOperation {
  readonly operationId?: string;
  readonly tags?: readonly string[];
  readonly "x-tier"?: string;
  "x-badges"?: readonly { readonly name: string; readonly color: string }[];
}

export function operationsOf({ paths }: Pick<Description, "paths">): readonly ListedOperation[] {
  return Object.values(paths).flatMap((item) => Object.values(item));
}

/** A part of a large document: the paths of one tag, or some of them. */
export interface DocumentPart {
  readonly name: string;
  readonly tag: string;
  readonly paths: Description["paths"];
}

/** Operations of a part: Redoc renders all of a document at once, in 25 ms of a processor each. */
const MAX_OPERATIONS = 10;

/** The parts of a document, in its order. */
export function partsOf({ paths, tags = [] }: Description): readonly DocumentPart[] {
  const tagOf = (item: DocumentedPath): string => Object.values(item)[0]?.tags?.[0] ?? "";
  const all = Object.entries(paths);
  const names = new Set([...tags.map(({ name }) => name), ...all.map(([, item]) => tagOf(item))]);
  return [...names].flatMap((tag) => {
    const own = all.filter(([, item]) => tagOf(item) === tag);
    const chunks = Array.from({ length: Math.ceil(own.length / MAX_OPERATIONS) }, (_, i) =>
      own.slice(i * MAX_OPERATIONS, (i + 1) * MAX_OPERATIONS),
    );
    return chunks.map((chunk, i) => ({
      name: chunks.length === 1 ? tag : `${tag}, ${String(i + 1)}: ${resourcesOf(chunk)}`,
      tag,
      paths: Object.fromEntries(chunk),
    }));
  });
}

/** The document with what a list of operations shows, and how one proves who one is. */
export function withoutContents(description: Description): Description {
  const { components = {}, paths, ...rest } = description;
  const { securitySchemes } = components;
  return {
    ...rest,
    ...(securitySchemes && { components: { securitySchemes } }),
    paths: Object.fromEntries(
      Object.entries(paths).map(([path, item]) => [
        path,
        Object.fromEntries(Object.entries(item).map(([method, operation]) => [method, listed(operation)])),
      ]),
    ),
  };
}

const LISTED = ["operationId", "tags", "summary", "deprecated", "security", "x-tier"];

const listed = (operation: ListedOperation): ListedOperation =>
  Object.fromEntries(Object.entries(operation).filter(([name]) => LISTED.includes(name)));

/** `blocks to gas_used`: the resources of a part of a category. */
function resourcesOf(paths: readonly (readonly [path: string, item: unknown])[]): string {
  const [first = "", last = ""] = [paths[0], paths.at(-1)].map((each) => each?.[0].split("/")[3] ?? "");
  return first === last ? first : `${first} to ${last}`;
}

/** The document with one of its parts. */
export function withPart(description: Description, { tag, paths }: DocumentPart): Description {
  const { tags = [], "x-tagGroups": groups, components, ...rest } = description;
  return {
    ...rest,
    tags: tags.filter(({ name }) => name === tag),
    ...(groups && {
      "x-tagGroups": groups
        .map(({ name, tags }) => ({ name, tags: tags.filter((each) => each === tag) }))
        .filter(({ tags }) => tags.length > 0),
    }),
    paths,
    ...(components && { components: usedComponents(paths, components) }),
  };
}

/** A part of a document with its references resolved; a reference within itself stays. */
export function resolved(value: unknown, components: Components, open: readonly string[] = []): unknown {
  if (Array.isArray(value)) return value.map((item) => resolved(item, components, open));
  if (typeof value !== "object" || value === null) return value;
  const { $ref: reference, ...rest } = value as { readonly $ref?: unknown };
  if (typeof reference === "string" && !open.includes(reference)) {
    const [, , kind = "", name = ""] = reference.split("/");
    const target = components[kind]?.[name];
    const found = resolved(target, components, [...open, reference]);
    // Swagger UI takes the name of a schema from it.
    return { ...(found as object), ...(resolved(rest, components, open) as object), $$ref: reference };
  }
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, resolved(item, components, open)]),
  );
}
