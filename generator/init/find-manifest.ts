import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { parse } from "yaml";
import { objectOr } from "../manifest/json.js";

/** A dbt project of a repository, with the place of its manifest. */
export interface DbtProject {
  /** Relative to the repository, with `/`. */
  readonly manifest: string;
  readonly catalog: string;
  /** Its name in `dbt_project.yml`; empty where that cannot be read. */
  readonly name: string;
}

/** Folders that hold no project of the repository's own. */
const SKIPPED = /^(\.|node_modules$|target$|dbt_packages$|dbt_modules$|logs$|venv$)/;

/** Every dbt project in the current folder and two levels below it. */
export function findProjects(folder = ".", depth = 2): readonly DbtProject[] {
  if (existsSync(join(folder, "dbt_project.yml"))) return [projectIn(folder)];
  if (depth === 0) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !SKIPPED.test(entry.name))
    .flatMap(({ name }) => findProjects(posix.join(folder, name), depth - 1));
}

function projectIn(folder: string): DbtProject {
  const { name, target } = readProject(join(folder, "dbt_project.yml"));
  const path = (file: string): string => posix.join(folder, target, file);
  return { name, manifest: path("manifest.json"), catalog: path("catalog.json") };
}

/** dbt writes to `target-path`, `target` by default; a path that is a template is known to dbt only. */
function readProject(file: string): { readonly name: string; readonly target: string } {
  try {
    const { name, "target-path": target } = objectOr(parse(readFileSync(file, "utf8")));
    const isPlain = typeof target === "string" && target !== "" && !target.includes("{{");
    return { name: typeof name === "string" ? name : "", target: isPlain ? target : "target" };
  } catch {
    return { name: "", target: "target" };
  }
}
