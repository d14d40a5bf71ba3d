/** One schema for all relations, or the schema that serves in place of each of the manifest's; `*` in a key stands for any text. */
export type SchemaMap = string | Readonly<Record<string, string>>;

/** The schema that serves the relations of a schema of the manifest: that of the first key that matches, else the same. */
export function servedSchema(schema: string, schemas: SchemaMap): string {
  if (typeof schemas === "string") return schemas;
  const [, served] = Object.entries(schemas).find(([pattern]) => matches(schema, pattern)) ?? [];
  return served ?? schema;
}

/** The schemas that a mapping leads to; null where it names none. */
export function mappedSchemas(schemas: SchemaMap): readonly string[] | null {
  const served = typeof schemas === "string" ? [schemas] : Object.values(schemas);
  return served.length === 0 ? null : served;
}

function matches(schema: string, pattern: string): boolean {
  const parts = pattern.split("*").map((part) => part.replace(/[\\^$.|?+()[\]{}]/g, "\\$&"));
  return new RegExp(`^${parts.join(".*")}$`, "s").test(schema);
}
