import { readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";

/** Every file below a folder, with `/` in its path, and its text. */
export function filesIn(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  return Object.fromEntries(
    files.map((file) => [relative(folder, file).replaceAll(sep, "/"), readFileSync(file, "utf8")]),
  );
}
