import { resolve } from "node:path";
import { failed, type Outcome, succeeded } from "@routewright/runtime/model";
import type { CopiedRelation } from "./copied-relation.js";

export const EXPORT_FORMATS = ["parquet", "iceberg", "delta"] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** Where the files, or the folder of a table, of one relation are. */
export type ExportLocation =
  | { readonly store: "local"; readonly path: string }
  | { readonly store: "http"; readonly url: string }
  | { readonly store: "s3"; readonly bucket: string; readonly path: string }
  | { readonly store: "gcs"; readonly bucket: string; readonly path: string }
  | {
      readonly store: "azure";
      readonly account: string | null;
      readonly container: string;
      readonly path: string;
    };

/** Where each relation's export is: a path or address with placeholders. */
export interface ExportTemplate {
  readonly text: string;
  readonly cwd: string;
}

const PLACEHOLDERS = ["schema", "name", "model"] as const;

/** Reads `--from`. Messages do not repeat it: it may hold a key. */
export function exportTemplate(
  text: string,
  cwd: string,
  relations: readonly CopiedRelation[],
): Outcome<ExportTemplate> {
  const names = [...text.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
  const unknown = names.find(
    (name) => !(PLACEHOLDERS as readonly string[]).includes(name) && !/^\d+$/.test(name),
  );
  if (unknown !== undefined)
    return failed(`--from has an unknown placeholder {${unknown}}: there are {schema}, {name} and {model}.`);
  if (!names.includes("name") && !names.includes("model") && relations.length > 1)
    return failed(
      `--from names one place for ${String(relations.length)} relations: write {name}, as in 's3://exports/{schema}/{name}/*.parquet', or choose one with --select.`,
    );
  const scheme = /^([a-z][\w+.-]+):\/\//i.exec(text)?.[1]?.toLowerCase() ?? "file";
  if (!Object.hasOwn(READERS, scheme))
    return failed(
      `--from starts with ${scheme}://, which is not read: use a path, https://, s3://, gs://, az:// or abfss://.`,
    );
  const template = { text, cwd };
  const [first] = relations;
  return first === undefined || locationIn(template, first) !== null
    ? succeeded(template)
    : failed(`--from is not a complete ${scheme}:// address: ${SHAPES[scheme] ?? ""}.`);
}

/** The place of a relation's export. */
export function exportLocation(template: ExportTemplate, copied: CopiedRelation): ExportLocation {
  const location = locationIn(template, copied);
  if (location === null) throw new Error("The address of an export is not complete.");
  return location;
}

function locationIn(
  { text, cwd }: ExportTemplate,
  { relation, model }: CopiedRelation,
): ExportLocation | null {
  const [schema, name] = relation;
  const values = { schema, name, model };
  const filled = text.replace(
    /\{(schema|name|model)\}/g,
    (_, placeholder: (typeof PLACEHOLDERS)[number]) => values[placeholder],
  );
  const [, scheme = "file", rest = filled] = /^([a-z][\w+.-]+):\/\/(.*)$/is.exec(filled) ?? [];
  return READERS[scheme.toLowerCase()]?.(rest, filled, cwd) ?? null;
}

/** What an address holds that nobody else may see: a password, a signature. */
function secretsOf(template: ExportTemplate): readonly string[] {
  if (!/^https?:/i.test(template.text) || !URL.canParse(template.text)) return [];
  const { username, password, search } = new URL(template.text);
  return [username, password, search.slice(1)].filter((text) => text !== "");
}

/** Whether a script would show them. */
export const hasSecrets = (template: ExportTemplate): boolean => secretsOf(template).length > 0;

/** A message of a reader, which may repeat the address. */
export function withoutSecrets(message: string, template: ExportTemplate): string {
  const shown = secretsOf(template).flatMap((text) => [text, decodeURIComponent(text)]);
  return shown.reduce((text, secret) => text.replaceAll(secret, "***"), message);
}

type ReadLocation = (rest: string, text: string, cwd: string) => ExportLocation | null;

const bucketOf =
  (store: "s3" | "gcs"): ReadLocation =>
  (rest) => {
    const [, bucket, path] = /^([^/@?#]+)\/(.+)$/s.exec(rest) ?? [];
    return bucket === undefined || path === undefined ? null : { store, bucket, path };
  };

const http: ReadLocation = (_, url) => (URL.canParse(url) ? { store: "http", url } : null);

const READERS: Readonly<Record<string, ReadLocation>> = {
  file: (rest, _, cwd) => (rest === "" ? null : { store: "local", path: resolve(cwd, rest) }),
  http,
  https: http,
  s3: bucketOf("s3"),
  s3a: bucketOf("s3"),
  gs: bucketOf("gcs"),
  gcs: bucketOf("gcs"),
  az: (rest) => {
    const [, container, path] = /^([^/@?#]+)\/(.+)$/s.exec(rest) ?? [];
    if (container === undefined || path === undefined) return null;
    return { store: "azure", account: null, container, path };
  },
  abfss: (rest) => {
    const [, container, account, path] = /^([^/@?#]+)@([^/@?#.]+)\.[^/@?#]+\/(.+)$/s.exec(rest) ?? [];
    if (container === undefined || account === undefined || path === undefined) return null;
    return { store: "azure", account, container, path };
  },
};

const SHAPES: Readonly<Record<string, string>> = {
  file: "a path, such as ./exports/{name}.parquet",
  http: "http://host/{name}.parquet",
  https: "https://host/{name}.parquet",
  s3: "s3://bucket/{schema}/{name}/*.parquet",
  s3a: "s3a://bucket/{schema}/{name}/*.parquet",
  gs: "gs://bucket/{schema}/{name}/*.parquet",
  gcs: "gcs://bucket/{schema}/{name}/*.parquet",
  az: "az://container/{schema}/{name}/*.parquet",
  abfss: "abfss://container@account.dfs.core.windows.net/{name}/*.parquet",
};
