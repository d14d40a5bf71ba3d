import { readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

/** What a program loads when it imports a file: what that file imports as values, and so on. */
export interface Loads {
  /** TypeScript files of ours. */
  readonly files: readonly string[];
  /** Lines of these files. */
  readonly lines: number;
  /** What is imported of packages of others, without Node's own modules. */
  readonly specifiers: readonly string[];
  /** These packages, in order. */
  readonly packages: readonly string[];
}

/** How the ramp, a package of its own, names files of the runtime. */
export const INTERNAL = /^@routewright\/runtime\/internal\/(.+)\.js$/;
const RUNTIME = fileURLToPath(new URL("../../runtime/", import.meta.url));

interface Source {
  readonly lines: number;
  readonly specifiers: readonly string[];
}

/** Sources that were read: most entries load the same. */
const known = new Map<string, Source>();

function sourceOf(file: string): Source {
  const found = known.get(file);
  if (found !== undefined) return found;
  const text = readFileSync(file, "utf8");
  const source = { lines: text.split("\n").length - 1, specifiers: importedValues(file, text) };
  known.set(file, source);
  return source;
}

/** Without types, which the compiler removes, and without what is loaded later by `import()`. */
export function loadsOf(...entries: readonly string[]): Loads {
  const sources = new Map<string, Source>();
  const specifiers = new Set<string>();
  const visit = (file: string): void => {
    if (sources.has(file)) return;
    const source = sourceOf(file);
    sources.set(file, source);
    for (const specifier of source.specifiers) {
      const internal = INTERNAL.exec(specifier)?.[1];
      if (internal !== undefined) visit(`${RUNTIME}${internal}.ts`);
      else if (specifier.startsWith(".")) visit(resolve(dirname(file), specifier).replace(/\.js$/, ".ts"));
      else if (!specifier.startsWith("node:")) specifiers.add(specifier);
    }
  };
  entries.forEach((entry) => visit(resolve(entry)));
  const lines = [...sources.values()].reduce((sum, source) => sum + source.lines, 0);
  const packages = [...new Set([...specifiers].map(packageOf))].sort();
  return { files: [...sources.keys()], lines, specifiers: [...specifiers], packages };
}

function packageOf(specifier: string): string {
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}

function importedValues(file: string, text: string): readonly string[] {
  const { statements } = ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
  return statements.flatMap((statement) => {
    if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) return [];
    const { moduleSpecifier } = statement;
    if (moduleSpecifier === undefined || !ts.isStringLiteral(moduleSpecifier)) return [];
    return isOfTypes(statement) ? [] : [moduleSpecifier.text];
  });
}

/** Whether nothing of it is left once types are removed. */
function isOfTypes(statement: ts.ImportDeclaration | ts.ExportDeclaration): boolean {
  if (ts.isExportDeclaration(statement)) return statement.isTypeOnly;
  const { importClause } = statement;
  if (importClause === undefined) return false;
  const { namedBindings, name } = importClause;
  if (importClause.phaseModifier === ts.SyntaxKind.TypeKeyword) return true;
  return (
    name === undefined &&
    namedBindings !== undefined &&
    ts.isNamedImports(namedBindings) &&
    namedBindings.elements.every(({ isTypeOnly }) => isTypeOnly)
  );
}
