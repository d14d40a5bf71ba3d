import { type CallerAccess, isTier, mayCall } from "../model/tier.js";

interface OpenApi {
  readonly tags: readonly { readonly name: string }[];
  readonly "x-tagGroups": readonly { readonly name: string; readonly tags: readonly string[] }[];
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

type PathItem = Readonly<Record<string, Operation>>;

interface Operation {
  readonly tags: readonly string[];
  readonly "x-tier"?: unknown;
  readonly "x-dbt-model"?: unknown;
}

/** The OpenAPI document with only the operations that a caller may call, and the components that they use. */
export function openApiFor(text: string, access: CallerAccess): string {
  const document = JSON.parse(text) as OpenApi;
  const paths = Object.fromEntries(
    Object.entries(document.paths).flatMap(([path, item]) => {
      const kept = Object.entries(item).filter(([, operation]) => isOpen(access, path, operation));
      return kept.length === 0 ? [] : [[path, Object.fromEntries(kept)]];
    }),
  );
  const used = new Set(
    Object.values(paths).flatMap((item) => Object.values(item).flatMap(({ tags }) => tags)),
  );
  const groups = document["x-tagGroups"].map(({ name, tags }) => ({
    name,
    tags: tags.filter((tag) => used.has(tag)),
  }));
  const filtered = {
    ...document,
    tags: document.tags.filter(({ name }) => used.has(name)),
    "x-tagGroups": groups.filter(({ tags }) => tags.length > 0),
    paths,
  };
  return `${JSON.stringify({ ...filtered, components: usedComponents(paths, document.components) }, null, 2)}\n`;
}

/** Documents and the state of the service are open to every caller. */
function isOpen(access: CallerAccess, path: string, operation: Operation): boolean {
  const required = operation["x-tier"];
  if (!isTier(required)) return false;
  return mayCall(access, path, required) || (required === "tier0" && operation["x-dbt-model"] === undefined);
}

/** The components that the paths refer to, directly or through others; security schemes are referred to by name. */
function usedComponents(paths: unknown, components: OpenApi["components"]): OpenApi["components"] {
  const found = new Set(referencesIn(paths));
  // A set can be extended while it is walked.
  for (const reference of found) {
    const [, , kind = "", name = ""] = reference.split("/");
    for (const further of referencesIn(components[kind]?.[name])) found.add(further);
  }
  return Object.fromEntries(
    Object.entries(components).map(([kind, members]) => [
      kind,
      kind === "securitySchemes"
        ? members
        : Object.fromEntries(
            Object.entries(members).filter(([name]) => found.has(`#/components/${kind}/${name}`)),
          ),
    ]),
  );
}

function referencesIn(value: unknown): readonly string[] {
  return [
    ...(value === undefined ? "" : JSON.stringify(value)).matchAll(/"\$ref":"(#\/components\/[^"]+)"/g),
  ].map(([, reference = ""]) => reference);
}
