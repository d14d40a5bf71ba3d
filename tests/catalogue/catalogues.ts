import { type CatalogueOptions, catalogueOf } from "../../generator/catalogue/build.js";
import type { Catalogue, Problem, Skipped } from "../../generator/catalogue/catalogue.js";
import { parseManifest } from "../../generator/manifest/manifest.js";
import { manifestOf, type TestModel } from "../support/manifest.js";

/** The catalogue of a manifest with these models, the whole way from its text. */
export function catalogueFrom(models: readonly TestModel[], options: CatalogueOptions = {}): Catalogue {
  return catalogueOfText(JSON.stringify(manifestOf(models)), options);
}

/** The catalogue of a manifest's text. */
export function catalogueOfText(text: string, options: CatalogueOptions = {}): Catalogue {
  const reading = parseManifest(text, "manifest.json");
  if (!reading.ok) throw new Error(reading.problems.join(" "));
  return catalogueOf(reading.value, options);
}

/** The text of a manifest with these nodes. */
export function manifestText(nodes: unknown, adapter = "postgres"): string {
  const schema = "https://schemas.getdbt.com/dbt/manifest/v12.json";
  return JSON.stringify({ metadata: { dbt_schema_version: schema, adapter_type: adapter }, nodes });
}

/** The catalogue of one model's node, `model.t.a`; what is left out has a harmless value. */
export function catalogueOfNode(node: object): Catalogue {
  const model = { resource_type: "model", name: "a", schema: "s", ...node };
  return catalogueOfText(manifestText({ "model.t.a": model }));
}

export function pathsOf({ entries }: Catalogue): string[] {
  return entries.map(({ path }) => path);
}

/** The one skipped model. */
export function onlySkipped({ skipped }: Catalogue): Skipped {
  const [only, ...others] = skipped;
  if (!only || others.length > 0)
    throw new Error(`Expected one skipped model, not ${String(skipped.length)}.`);
  return only;
}

/** Problems as `path: message`, for comparing; that each has a hint is checked here. */
export function told(problems: readonly Problem[]): string[] {
  return problems.map(({ path, message, hint }) => {
    if (!/^[A-Z`].*[.?]$/su.test(hint))
      throw new Error(`The hint says nothing to do: ${JSON.stringify(hint)}`);
    return `${path}: ${message}`;
  });
}
