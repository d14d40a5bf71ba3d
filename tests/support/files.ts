import { readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
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

/** Puts JSON into a file in one step, as dbt's next file takes the place of the last. */
export function putJson(file: string, content: unknown): void {
  putText(file, JSON.stringify(content));
}

/** Whoever reads it meanwhile has the old text or the new one. */
export function putText(file: string, text: string): void {
  writeFileSync(`${file}.tmp`, text);
  renameSync(`${file}.tmp`, file);
}
