import { fileURLToPath } from "node:url";
import ts from "typescript";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** The entries whose exports are public (generator/docs/versions.md), by what users import. */
const ENTRIES = {
  "@routewright/runtime": "runtime/index.ts",
  "@routewright/runtime/keys": "runtime/server/keys.ts",
  "routewright/config": "generator/config.ts",
} as const;

/** Of a config file's entry, what a config file needs. */
const ONLY: Readonly<Record<string, readonly string[]>> = {
  "routewright/config": ["Config", "defineConfig"],
};

/** What callers pass on and do not look into. */
const OPAQUE: ReadonlySet<string> = new Set(["OpenGateway", "Keyring", "Warehouse"]);

const printer = ts.createPrinter({ removeComments: true });

/** The declaration of each export, and of each type of ours that one of them names. */
export function exportedDeclarations(): ReadonlyMap<string, string> {
  const options: ts.CompilerOptions = {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2023,
    strict: true,
    types: ["node"],
    paths: {
      "@routewright/runtime/*": [`${ROOT}runtime/*.ts`],
      "@routewright/runtime/model": [`${ROOT}runtime/generator-api.ts`],
    },
  };
  const host = ts.createCompilerHost(options);
  // Comments are no part of the report.
  host.jsDocParsingMode = ts.JSDocParsingMode.ParseNone;
  const program = ts.createProgram(
    Object.values(ENTRIES).map((file) => ROOT + file),
    options,
    host,
  );
  const checker = program.getTypeChecker();
  const found = new Map<string, string>();
  for (const [entry, file] of Object.entries(ENTRIES)) {
    const module = checker.getSymbolAtLocation(program.getSourceFile(ROOT + file)!)!;
    const exported = checker
      .getExportsOfModule(module)
      .filter(({ name }) => ONLY[entry]?.includes(name) ?? true);
    const queue = exported.map((symbol) => resolved(checker, symbol));
    const seen = new Set<ts.Symbol>(queue);
    queue.forEach((symbol, i) => found.set(`${entry} ${exported[i]!.name}`, textOf(checker, symbol)));
    for (let symbol = queue.shift(); symbol !== undefined; symbol = queue.shift())
      for (const used of typesUsed(checker, symbol)) {
        if (seen.has(used)) continue;
        seen.add(used);
        queue.push(used);
        found.set(`${entry} ${used.name}`, textOf(checker, used));
      }
  }
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

function resolved(checker: ts.TypeChecker, symbol: ts.Symbol): ts.Symbol {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

function declarationsOf({ declarations = [] }: ts.Symbol): readonly ts.Declaration[] {
  return declarations.filter((one) => !one.getSourceFile().fileName.includes("/node_modules/"));
}

function textOf(checker: ts.TypeChecker, symbol: ts.Symbol): string {
  if (OPAQUE.has(symbol.name)) return "opaque";
  return declarationsOf(symbol)
    .map((declaration) => declarationText(checker, symbol, declaration))
    .join("\n");
}

function declarationText(checker: ts.TypeChecker, symbol: ts.Symbol, declaration: ts.Declaration): string {
  if (ts.isInterfaceDeclaration(declaration) || ts.isTypeAliasDeclaration(declaration))
    return printed(declaration).replace(/^export /, "");
  if (ts.isClassDeclaration(declaration)) {
    const members = declaration.members.filter(isPublic).map((member) => `  ${memberText(checker, member)};`);
    return [`class ${symbol.name} {`, ...members, "}"].join("\n");
  }
  return checker.typeToString(
    checker.getTypeOfSymbolAtLocation(symbol, declaration),
    declaration,
    ts.TypeFormatFlags.NoTruncation,
  );
}

function printed(node: ts.Node): string {
  return printer.printNode(ts.EmitHint.Unspecified, node, node.getSourceFile());
}

function isPublic(member: ts.ClassElement): boolean {
  const hidden = ts.ModifierFlags.Private | ts.ModifierFlags.Protected;
  const isHidden = (ts.getCombinedModifierFlags(member) & hidden) !== 0;
  return !isHidden && !(member.name !== undefined && ts.isPrivateIdentifier(member.name));
}

function memberText(checker: ts.TypeChecker, member: ts.ClassElement): string {
  const type = checker.typeToString(
    checker.getTypeAtLocation(member),
    member,
    ts.TypeFormatFlags.NoTruncation,
  );
  return `${member.name?.getText() ?? "constructor"}: ${type}`;
}

/** Types of ours that a declaration names; in a class only what its public members name. */
function typesUsed(checker: ts.TypeChecker, symbol: ts.Symbol): readonly ts.Symbol[] {
  if (OPAQUE.has(symbol.name)) return [];
  const found: ts.Symbol[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isBlock(node) || (ts.isClassElement(node) && !isPublic(node))) return;
    if (ts.isTypeReferenceNode(node) || ts.isExpressionWithTypeArguments(node)) {
      const name = ts.isTypeReferenceNode(node) ? node.typeName : node.expression;
      const used = checker.getSymbolAtLocation(name);
      if (used !== undefined) found.push(resolved(checker, used));
    }
    node.forEachChild(visit);
  };
  const isOurs = (one: ts.Symbol): boolean =>
    !(one.flags & ts.SymbolFlags.TypeParameter) && declarationsOf(one).length > 0;
  declarationsOf(symbol)
    .filter((one) => !ts.isVariableDeclaration(one))
    .forEach(visit);
  return found.filter(isOurs);
}
