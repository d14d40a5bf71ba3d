import { resolve } from "node:path";
import {
  failed,
  type Outcome,
  schemeOf,
  storeAddress,
  type StoreAddress,
  succeeded,
} from "@routewright/runtime/model";
import type { CopiedRelation } from "./copied-relation.js";

/** The environment in which a load finds the keys of stores. */
export type LoadVariables = Readonly<Record<string, string | undefined>>;

export const EXPORT_FORMATS = ["parquet", "iceberg", "delta"] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** Where the files, or the folder of a table, of one relation are. */
export type ExportLocation = Exclude<StoreAddress, { readonly store: "dbt-cloud" }>;

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
  const scheme = schemeOf(text);
  if (!Object.hasOwn(SHAPES, scheme))
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
  const address = storeAddress(filled);
  if (address === null || address.store === "dbt-cloud") return null;
  return address.store === "local" ? { ...address, path: resolve(cwd, address.path) } : address;
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
  const shown = secretsOf(template).flatMap((text) => [text, decoded(text)]);
  return shown.reduce((text, secret) => text.replaceAll(secret, "***"), message);
}

/** The text itself where it is no encoding of another one: any text may follow the question mark. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

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
