/** What a server changes in the generated OpenAPI document: real rows, the ways to send a key, what a caller may call. */
import { type Access, mayCall } from "../core/model/caller.js";
import { ownValue } from "../core/model/own-value.js";
import { isTier } from "../core/model/tier.js";
import { type Components, usedComponents } from "./used-components.js";

/** Stands for a row until the document is a text: its numbers keep their digits. */
const ROW_PLACE = /"\\u0000(\d+)"/g;

/** The document with a real row in the schemas of rows. */
export function textWithRows(
  document: OpenApi,
  rows: readonly (readonly [path: string, row: string])[],
): string {
  const schemas = { ...document.components["schemas"] } as Record<string, RowSchema>;
  const shown: string[] = [];
  for (const [i, [path, row]] of rows.entries()) {
    const operation = JSON.stringify(document.paths[path]?.["get"] ?? null);
    const [, name = ""] = /"\$ref":"#\/components\/schemas\/([^"]+_row)"/.exec(operation) ?? [];
    const schema = schemas[name];
    if (schema === undefined) continue;
    schemas[name] = { ...schema, examples: [`\0${String(i)}`] };
    shown[i] = completed(row, schema);
  }
  const text = JSON.stringify({ ...document, components: { ...document.components, schemas } }, null, 2);
  return text.replace(ROW_PLACE, (_, i: string) => shown[Number(i)] ?? "{}");
}

interface RowSchema {
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, { readonly examples?: readonly unknown[] }>>;
  readonly examples?: readonly unknown[];
}

/** A row without private columns, with the made-up values that the schema has of them: it must be one of the schema. */
function completed(row: string, { required = [], properties = {} }: RowSchema): string {
  const known = JSON.parse(row) as object;
  const missing = required.filter((name) => !Object.hasOwn(known, name));
  const members = missing.map(
    (name) => `${JSON.stringify(name)}:${JSON.stringify(ownValue(properties, name)?.examples?.[0] ?? null)}`,
  );
  const own = row.trim().slice(1, -1);
  return `{${[...(own.trim() === "" ? [] : [own]), ...members].join(",")}}`;
}

export interface OpenApi {
  readonly tags: readonly { readonly name: string }[];
  readonly "x-tagGroups": readonly { readonly name: string; readonly tags: readonly string[] }[];
  readonly paths: Readonly<Record<string, DocumentPath>>;
  readonly components: Components;
}

type DocumentPath = Readonly<Record<string, DocumentOperation>>;

interface DocumentOperation {
  readonly tags: readonly string[];
  readonly description?: string;
  readonly security?: readonly Readonly<Record<string, unknown>>[];
  readonly "x-tier"?: unknown;
  readonly "x-dbt-model"?: unknown;
  readonly parameters?: readonly { readonly name?: string; readonly example?: unknown }[];
}

/** The document with `bearerAuth` beside `ApiKeyAuth`: a JWT opens what a key opens. */
export function withBearer(document: OpenApi): OpenApi {
  const operation = (each: DocumentOperation): DocumentOperation =>
    each.security?.some((scheme) => "ApiKeyAuth" in scheme) === true
      ? { ...each, security: [...each.security, { bearerAuth: [] }] }
      : each;
  const paths = Object.entries(document.paths).map(([path, item]) => [
    path,
    Object.fromEntries(Object.entries(item).map(([method, each]) => [method, operation(each)])),
  ]);
  const bearerAuth = { type: "http", scheme: "bearer", bearerFormat: "JWT" };
  const { securitySchemes } = document.components;
  const components = { ...document.components, securitySchemes: { ...securitySchemes, bearerAuth } };
  return { ...document, paths: Object.fromEntries(paths) as OpenApi["paths"], components };
}

/** The OpenAPI document with only the operations that a caller may call, and the components that they use. */
export function openApiFor(document: OpenApi, access: Access): OpenApi {
  const paths = Object.fromEntries(
    Object.entries(document.paths).flatMap(([path, item]) => {
      const kept = Object.entries(item).filter(([, operation]) => isOpen(access, path, operation));
      return kept.length === 0 ? [] : [[path, Object.fromEntries(kept)]];
    }),
  );
  const shown = withoutOtherExamples(paths);
  const used = new Set(
    Object.values(shown).flatMap((item) => Object.values(item).flatMap(({ tags }) => tags)),
  );
  const groups = document["x-tagGroups"].map(({ name, tags }) => ({
    name,
    tags: tags.filter((tag) => used.has(tag)),
  }));
  return {
    ...document,
    tags: document.tags.filter(({ name }) => used.has(name)),
    "x-tagGroups": groups.filter(({ tags }) => tags.length > 0),
    paths: shown,
    components: usedComponents(shown, document.components),
  };
}

/** System endpoints without the examples of an endpoint that is not among the paths. */
function withoutOtherExamples(paths: OpenApi["paths"]): OpenApi["paths"] {
  const operation = (each: DocumentOperation): DocumentOperation => {
    const path = each.parameters?.find(({ name }) => name === "path")?.example;
    if (typeof path !== "string" || paths[path] !== undefined) return each;
    return { ...each, parameters: each.parameters?.map((of) => ({ ...of, example: undefined })) ?? [] };
  };
  const items = Object.entries(paths).map(([path, item]) => [
    path,
    Object.fromEntries(Object.entries(item).map(([method, each]) => [method, operation(each)])),
  ]);
  return Object.fromEntries(items) as OpenApi["paths"];
}

/** The generator's sentences on a successor: where it is, and what changes there. */
const SUCCESSOR =
  /^(?:Moved to|The latest version is served by) `([^`]+)`\.\n\n(?:What changes there: .*\n\n)?/m;

/** The document without successors that it does not have. */
export function withoutOtherSuccessors(document: OpenApi): OpenApi {
  const operation = (each: DocumentOperation): DocumentOperation => {
    const { description = "" } = each;
    const [sentences, path = ""] = SUCCESSOR.exec(description) ?? [];
    if (sentences === undefined || document.paths[path] !== undefined) return each;
    return { ...each, description: description.replace(sentences, () => "") };
  };
  const paths = Object.entries(document.paths).map(([path, item]) => [
    path,
    Object.fromEntries(Object.entries(item).map(([method, each]) => [method, operation(each)])),
  ]);
  return { ...document, paths: Object.fromEntries(paths) as OpenApi["paths"] };
}

/** Documents and the state of the service are open to every caller. */
function isOpen(access: Access, path: string, operation: DocumentOperation): boolean {
  const required = operation["x-tier"];
  if (!isTier(required)) return false;
  return mayCall(access, path, required) || (required === "tier0" && operation["x-dbt-model"] === undefined);
}
