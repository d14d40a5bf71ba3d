import { byText } from "../manifest/json.js";
import type { Catalogue, CatalogueEntry } from "../catalogue/catalogue.js";
import { catalogueText } from "../catalogue/catalogue-file.js";
import { type OpenApiOptions, openApiText } from "./openapi/document.js";
import { stringLiteral } from "./code.js";
import { moduleName, routeFile } from "./names.js";
import { fill, skeletons } from "./parts.js";
import { routeModule } from "./route.js";

/** Generated files: path within the folder (with `/`) → text. */
export type FileSet = ReadonlyMap<string, string>;

/** Renders a catalogue whole. Pure: same catalogue, same bytes, on every machine. */
export function render(catalogue: Catalogue, options: OpenApiOptions = {}): FileSet {
  const files: (readonly [string, string])[] = [
    ...catalogue.entries.map((entry) => [routeFile(entry), routeModule(entry)] as const),
    ["catalogue.json", catalogueText(catalogue, options.title ?? null)],
    ["index.ts", indexModule(catalogue.entries)],
    ["openapi.json", openApiText(catalogue, options)],
  ];
  return new Map(files.sort(([a], [b]) => byText(a, b)));
}

/** `index.ts`: imports all modules and lists them in the documented order. */
function indexModule(entries: readonly CatalogueEntry[]): string {
  if (entries.length === 0) return fill(skeletons().index, EMPTY_INDEX);
  const imports = entries.map((entry) => {
    const file = `./${routeFile(entry).replace(/\.ts$/, ".js")}`;
    return `import * as ${moduleName(entry)} from ${stringLiteral(file)};\n`;
  });
  const names = entries.map((entry) => `  ${moduleName(entry)},\n`);
  return fill(skeletons().index, {
    imports: imports.join("").trimEnd(),
    endpoints: ` = [\n${names.join("")}]`,
  });
}

/** What an empty list would hold cannot be inferred. */
const EMPTY_INDEX = {
  imports: 'import type { EndpointModule } from "@routewright/runtime";',
  endpoints: ": readonly EndpointModule[] = []",
};
