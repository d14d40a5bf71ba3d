import { type Outcome, succeeded } from "@routewright/runtime/model";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { parse } from "yaml";
import { type PublishRules, withPublished } from "../../manifest/publish-rules.js";
import { isPublished } from "../../manifest/publishing.js";
import { type JsonObject, objectOr, textOr } from "../../manifest/json.js";
import { type Manifest, readManifest } from "../../manifest/manifest.js";
import { isAddress } from "../../artifacts/source.js";

/** A dbt project of the repository. */
export interface DbtProject {
  /** Where dbt writes its manifest, with `/`. */
  readonly manifest: string;
  /** Null where its file names none. */
  readonly name: string | null;
}

/** Folders that hold no project of the repository's own. */
const SKIPPED = /^(\.|node_modules$|target$|dbt_packages$|dbt_modules$|logs$|venv$)/;

/** The dbt projects in the current folder and two levels below it. */
export function findProjects(folder = ".", depth = 2): readonly DbtProject[] {
  const file = join(folder, "dbt_project.yml");
  if (existsSync(file)) {
    const project = projectIn(file);
    const manifest = posix.join(folder, targetOf(project), "manifest.json");
    return [{ manifest, name: textOr(project["name"], "") || null }];
  }
  if (depth === 0) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !SKIPPED.test(entry.name))
    .flatMap(({ name }) => findProjects(posix.join(folder, name), depth - 1));
}

function projectIn(file: string): JsonObject {
  try {
    return objectOr(parse(readFileSync(file, "utf8")));
  } catch {
    return {};
  }
}

/** dbt writes to `target-path`, `target` by default; a path that is a template is known to dbt only. */
function targetOf({ "target-path": target }: JsonObject): string {
  return typeof target === "string" && target !== "" && !target.includes("{{") ? target : "target";
}

/** A file of dbt beside its manifest; undefined where there is none. */
export function besideManifest(manifest: string, name: string): string | undefined {
  const file = posix.join(posix.dirname(manifest), name);
  return isAddress(manifest) || !existsSync(file) ? undefined : file;
}

/** The title of a project's API: `jaffle_shop` → `Jaffle shop`. */
export function titleOf(project: string | null): string | undefined {
  const words = project?.replace(/[_-]+/g, " ").trim() ?? "";
  return words === "" ? undefined : words.charAt(0).toUpperCase() + words.slice(1);
}

/** What a manifest says of its project. */
interface ManifestFacts {
  /** dbt's adapter; null where it is not known. */
  readonly adapter: string | null;
  /** Name of the project; null where it is not known. */
  readonly project: string | null;
  /** The schemas of the models that are tagged for the API. */
  readonly schemas: readonly string[];
  /** The manifest itself, where it is there. */
  readonly read: Manifest | null;
}

/** A manifest that is named must be one; that of a project may be there once dbt has run. */
export async function factsOf(
  manifest: string,
  isNamed: boolean,
  publish: PublishRules,
): Promise<Outcome<ManifestFacts>> {
  if (isAddress(manifest) || (!isNamed && !existsSync(manifest)))
    return succeeded({ adapter: null, project: null, schemas: [], read: null });
  const reading = await readManifest(manifest);
  if (!reading.ok) return reading;
  const read = withPublished(reading.value, publish);
  const { adapter, project, models } = read;
  const published = models.filter(({ tags }) => isPublished(tags));
  const schemas = [...new Set(published.map(({ schema }) => schema))].sort();
  return succeeded({ adapter, project, schemas, read });
}
