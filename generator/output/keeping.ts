import { statSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
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
  readonly kept: Kept | undefined;
}

/** Reads a folder that this version of the generator is to write. `check`: nothing is kept. */
export function readKept(out: string, generator: string, check = false): Keeping {
  const found = readable(() => readFolder(out));
  const kept = found && !check ? readable(() => keptIn(out, found, generator)) : undefined;
  return { found, former: found && bytesIn(found, CATALOGUE_FILE), generator, kept };
}

function readable<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** The generator, and what prints its modules. */
const CODE = [fileURLToPath(import.meta.url), createRequire(import.meta.url).resolve("ts-morph")];

/** Nothing where one of them is newer than the folder: code may differ in the same version, as in a clone of Routewright. */
function keptIn(out: string, folder: Folder, generator: string): Kept | undefined {
  const written = statSync(join(out, CATALOGUE_FILE)).mtimeMs;
  if (CODE.some((file) => statSync(file).mtimeMs >= written)) return undefined;
  return keptOf((file) => bytesIn(folder, file), generator);
}

function bytesIn(folder: Folder, file: string): Buffer | undefined {
  const entry = folder.get(file);
  return entry?.kind === "file" ? entry.bytes : undefined;
}
