/** Pages of the documentation, as tests compare them with the code. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");

/** A page's text, or that of one section of it with its subsections' headings cut off. */
export function pageText(page: string, section?: string): string {
  const text = readFileSync(join(ROOT, page), "utf8");
  if (section === undefined) return text;
  return text.split(/^#+ /m).find((part) => part.startsWith(`${section}\n`)) ?? "";
}

/** Table rows that begin with a name in code: their cells, the first without its marks. */
export function rowsOf(page: string, section?: string): readonly (readonly string[])[] {
  return [...pageText(page, section).matchAll(/^\| `.*\|$/gm)].map(([line]) => {
    const [name = "", ...cells] = line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim());
    return [/`([^`]+)`/.exec(name)?.[1] ?? name, ...cells];
  });
}

/** First cells of these rows, sorted. */
export const namesIn = (page: string, section?: string): readonly string[] =>
  rowsOf(page, section)
    .map(([name = ""]) => name)
    .sort();
