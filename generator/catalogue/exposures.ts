import { type Outcome, failed, succeeded } from "@routewright/runtime/model";
import { stringify } from "yaml";
import { isObject, type JsonObject, objectOr, textOr } from "../manifest/json.js";
import type { Manifest } from "../manifest/manifest.js";
import { byText } from "../manifest/strings.js";
import type { Catalogue, CatalogueEntry } from "./catalogue.js";

/** What an exposure says besides what the catalogue knows. */
export interface ExposureOptions {
  /** One exposure for the API, or one per endpoint. */
  readonly per: "api" | "endpoint";
  readonly title: string;
  /** Address of the API without a `/` at its end; null: exposures have none. */
  readonly url: string | null;
  /** Name or e-mail address of who answers for the API, and for endpoints without an owner. */
  readonly owner: string | null;
}

/** Exposures, and what they leave out. */
export interface Exposures {
  readonly yaml: string;
  readonly notes: readonly string[];
}

/** dbt's `exposures:` of the API: what it reads, who owns it and where it is. */
export function exposuresOf(
  manifest: Manifest,
  { entries }: Catalogue,
  options: ExposureOptions,
): Outcome<Exposures> {
  if (entries.length === 0) return failed("The manifest publishes no endpoint.");
  const groups = options.per === "api" ? [entries] : entries.map((entry) => [entry]);
  const owners = groups.map((group) => ownerOf(group, options));
  const missing = groups.filter((_, i) => owners[i] === null).flat();
  if (missing.length > 0) return failed(noOwner(missing, options));
  const sources = new ExposedNodes(manifest);
  const names = new Set<string>();
  const exposures = groups.map((group, i) => {
    const [first] = group;
    const isApi = options.per === "api" || first === undefined;
    const name = freeName(isApi ? options.title : `${options.title} ${first.path}`, names);
    return {
      name,
      label: isApi ? options.title : `${options.title}: ${first.path}`,
      type: "application",
      ...(!isApi && first.stability === "preview" && { maturity: "low" }),
      ...(options.url !== null && { url: isApi ? options.url : options.url + first.path }),
      description: isApi ? apiText(entries) : first.description || `Endpoint ${first.path}.`,
      depends_on: [...new Set(group.flatMap((entry) => sources.of(entry)))].sort(byText),
      owner: asOwner(owners[i] ?? ""),
    };
  });
  const yaml = stringify({ version: 2, exposures: exposures.map(literal) }, { lineWidth: 0 });
  return succeeded({ yaml, notes: sources.notes });
}

/** The owner that is named; else the one that the endpoints share. An endpoint's own wins over the API's. */
function ownerOf(entries: readonly CatalogueEntry[], { per, owner }: ExposureOptions): string | null {
  const [own, ...others] = new Set(entries.map((entry) => entry.owner ?? null));
  const shared = others.length === 0 ? (own ?? null) : null;
  return per === "api" ? (owner ?? shared) : (shared ?? owner);
}

function noOwner(entries: readonly CatalogueEntry[], { per }: ExposureOptions): string {
  const [first] = entries;
  const who =
    per === "api"
      ? "the models do not share one"
      : `${first?.model ?? ""} has none${entries.length > 1 ? `, nor have ${String(entries.length - 1)} more models` : ""}`;
  return `An exposure needs an owner, and ${who}: name it with --owner "Data team" or --owner data@example.org, or in \`meta.owner\` of the models.`;
}

/** dbt takes a name or an e-mail address. */
function asOwner(text: string): { readonly name: string } | { readonly email: string } {
  return /^[^\s@,]+@[^\s@,]+\.[^\s@,]+$/.test(text) ? { email: text } : { name: text };
}

const MAX_LISTED = 20;

function apiText(entries: readonly CatalogueEntry[]): string {
  const listed = entries.slice(0, MAX_LISTED).map(({ path }) => `- ${path}`);
  const more = entries.length - listed.length;
  const count = `${String(entries.length)} ${entries.length === 1 ? "endpoint" : "endpoints"}:`;
  return [count, ...listed, ...(more > 0 ? [`- and ${String(more)} more`] : [])].join("\n");
}

/** dbt allows letters, digits and underscores. */
function freeName(text: string, taken: Set<string>): string {
  const plain = text
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^_+|_+$/g, "");
  const name = plain === "" ? "data_api" : plain;
  let free = name;
  for (let i = 2; taken.has(free); i++) free = `${name}_${String(i)}`;
  taken.add(free);
  return free;
}

/** What endpoints read, as calls of `ref` and `metric`. */
class ExposedNodes {
  readonly #nodes: ReadonlyMap<string, JsonObject>;
  readonly #metrics: ReadonlyMap<string, JsonObject>;
  readonly #queries: ReadonlyMap<string, readonly string[]>;
  readonly #private = new Set<string>();

  constructor({ graph, semantics }: Manifest) {
    this.#nodes = new Map([...graph].map(([id, { json }]) => [id, json]));
    this.#metrics = new Map(semantics.metrics.map(({ name, json }) => [name, json]));
    this.#queries = new Map(semantics.queries.map(({ node, metrics }) => [node.uniqueId, metrics]));
  }

  get notes(): readonly string[] {
    return [...this.#private].map(
      (id) => `${id} has \`access: private\`, which no exposure may depend on: it is left out.`,
    );
  }

  of({ uniqueId, aggregate }: CatalogueEntry): readonly string[] {
    if (aggregate?.of !== "metrics") return this.#model(uniqueId);
    const names = this.#queries.get(uniqueId) ?? aggregate.measures.map(({ name }) => name);
    return names.map((name) => call("metric", this.#metrics.get(name) ?? {}, name));
  }

  #model(uniqueId: string): readonly string[] {
    const node = this.#nodes.get(uniqueId) ?? {};
    if ((node["access"] ?? objectOr(node["config"])["access"]) === "private") {
      this.#private.add(uniqueId);
      return [];
    }
    const { version } = node;
    const isVersioned = typeof version === "string" || typeof version === "number";
    return [call("ref", node, uniqueId.split(".")[2] ?? "", isVersioned ? `, v=${literalOf(version)}` : "")];
  }
}

/** `ref('package', 'orders', v=2)`: a name alone may be that of another package's. */
function call(kind: "ref" | "metric", node: JsonObject, name: string, more = ""): string {
  const packageName = textOr(node["package_name"], "");
  const names = [...(packageName === "" ? [] : [packageName]), textOr(node["name"], name)];
  return `${kind}(${names.map((each) => `'${each}'`).join(", ")}${more})`;
}

function literalOf(version: string | number): string {
  return typeof version === "number" ? String(version) : `'${version}'`;
}

/** dbt renders texts as templates: those of the manifest are rendered already. */
function literal(value: unknown): unknown {
  if (typeof value === "string") return value.replace(/\{(?=[{%#])/g, "{ ");
  if (Array.isArray(value)) return value.map(literal);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, literal(item)]));
}
