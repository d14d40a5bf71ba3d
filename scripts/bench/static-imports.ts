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

/** Without types, which the compiler removes, and without what is loaded later by `import()`. */
export function loadsOf(...entries: readonly string[]): Loads {
  const texts = new Map<string, string>();
  const specifiers = new Set<string>();
  const visit = (file: string): void => {
    if (texts.has(file)) return;
    const text = readFileSync(file, "utf8");
    texts.set(file, text);
    for (const specifier of importedValues(file, text)) {
      const internal = INTERNAL.exec(specifier)?.[1];
      if (internal !== undefined) visit(`${RUNTIME}${internal}.ts`);
      else if (specifier.startsWith(".")) visit(resolve(dirname(file), specifier).replace(/\.js$/, ".ts"));
      else if (!specifier.startsWith("node:")) specifiers.add(specifier);
    }
  };
  entries.forEach((entry) => visit(resolve(entry)));
  const lines = [...texts.values()].reduce((sum, text) => sum + text.split("\n").length - 1, 0);
  const packages = [...new Set([...specifiers].map(packageOf))].sort();
  return { files: [...texts.keys()], lines, specifiers: [...specifiers], packages };
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
