import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A package, as npm notes it. */
interface Locked {
  readonly dependencies?: object;
  readonly optionalDependencies?: object;
  readonly peerDependencies?: object;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

/** The folder in which the next `node_modules` above a package's is; the repository is "". */
const above = (folder: string): string => folder.replace(/(^|\/)node_modules\/(@[^/]+\/)?[^/]+$/, "");

/**
 * Paths of packages that a repository has, and of all that they bring, as Node finds them from each: what their installation alone
 * brings, without a further one.
 */
export function broughtBy(repository: string, ...names: readonly string[]): readonly string[] {
  const lock = readFileSync(join(repository, "node_modules/.package-lock.json"), "utf8");
  const { packages } = JSON.parse(lock) as { packages: Readonly<Record<string, Locked>> };
  const found = new Set<string>();
  const add = (name: string, from: string): void => {
    const path = join(from, "node_modules", name);
    const locked = packages[path];
    if (locked === undefined) return from === "" ? undefined : add(name, above(from));
    if (found.has(path)) return;
    found.add(path);
    for (const each of neededBy(locked)) add(each, path);
  };
  for (const name of names) add(name, "");
  return [...found];
}

function neededBy(locked: Locked): readonly string[] {
  const { dependencies, optionalDependencies, peerDependencies = {}, peerDependenciesMeta = {} } = locked;
  const peers = Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name]?.optional !== true);
  return [...peers, ...Object.keys({ ...dependencies, ...optionalDependencies })];
}
