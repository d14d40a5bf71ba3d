/** The components of an OpenAPI document, by kind and name. */
export type Components = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/** The components that the paths refer to, directly or through others; security schemes are referred to by name. */
export function usedComponents(paths: unknown, components: Components): Components {
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
