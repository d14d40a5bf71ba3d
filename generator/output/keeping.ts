import { digestOf } from "@routewright/runtime/model";
import { readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { CATALOGUE_FILE, type Kept, keptOf } from "../render/kept.js";
import { type Folder, readFolder } from "./folder.js";

/** A folder before it is written, and what its rendering may keep. */
interface Keeping {
  /** Nothing where it cannot be read, which its writer reports. */
  readonly found: Folder | undefined;
  /** Its `catalogue.json`. */
  readonly former: Buffer | undefined;
  readonly generator: string;
  readonly code: string | undefined;
  readonly kept: Kept | undefined;
}

/** Reads a folder that this version of the generator is to write. `check`: nothing is kept. */
export function readKept(out: string, generator: string, check = false): Keeping {
  const found = readable(() => readFolder(out));
  const code = codeDigest();
  const keep = (folder: Folder) => keptOf((file) => bytesIn(folder, file), { generator, code });
  const kept = found && !check ? readable(() => keep(found)) : undefined;
  return { found, former: found && bytesIn(found, CATALOGUE_FILE), generator, code, kept };
}

function readable<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/**
 * Digest of the compiled code and the version of what prints its modules: both may differ in one version of the generator, as in two
 * clones of it. Each compiled file is named by its content. Undefined where the sources themselves run.
 */
function codeDigest(): string | undefined {
  const own = fileURLToPath(import.meta.url);
  if (own.endsWith(".ts")) return undefined;
  const { version } = createRequire(own)("ts-morph/package.json") as { version: string };
  const names = readdirSync(dirname(own)).filter((name) => name.endsWith(".js"));
  return digestOf([version, ...names.sort()].join("\n"));
}

function bytesIn(folder: Folder, file: string): Buffer | undefined {
  const entry = folder.get(file);
  return entry?.kind === "file" ? entry.bytes : undefined;
}
