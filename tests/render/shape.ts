import ts from "typescript";
import type { FileSet } from "../../generator/render/render.js";
import { oddities, parse } from "./compiler.js";

/** What of a rendered folder is more, or other, than a generated folder is; empty when nothing is. */
export function strayCode(files: FileSet): string[] {
  return [...files].flatMap(([file, text]) => {
    if (["openapi.json", "catalogue.json", "lineage.json"].includes(file))
      return isJson(text) ? [] : [`${file} is not JSON`];
    if (!/^(index|routes\/[a-z0-9_~.-]+\/[a-z0-9_~.-]+)\.ts$/.test(file)) return [`${file} is an odd name`];
    const statements = parse(text).statements.map((statement) => statement);
    const stray = file === "index.ts" ? strayInIndex(statements) : strayInRoute(statements);
    return [...oddities(text), ...stray].map((problem) => `${file}: ${problem}`);
  });
}

function isJson(text: string): boolean {
  try {
    return typeof JSON.parse(text) === "object";
  } catch {
    return false;
  }
}

/** The import, the two interfaces, the export of what `defineEndpoint` makes of plain values: nothing else. */
function strayInRoute([first, row, query, last, ...others]: readonly ts.Statement[]): string[] {
  const problems = others.map((statement) => `one statement more: ${statement.getText().slice(0, 100)}`);
  if (!first || !isImport(first, "@routewright/runtime")) problems.push("the first is not the import");
  if (!row || !isInterface(row, "Row")) problems.push("the second is not the rows' interface");
  if (!query || !isInterface(query, "Query")) problems.push("the third is not the query's interface");
  const declared = last && ts.isVariableStatement(last) ? last.declarationList.declarations : [];
  const [declaration, ...more] = declared;
  const call = declaration?.initializer;
  if (
    !call ||
    more.length > 0 ||
    !ts.isCallExpression(call) ||
    call.expression.getText() !== "defineEndpoint<Query, Row>({ schema: 1 })"
  )
    problems.push("the last is not the one endpoint");
  else if (call.arguments.length !== 1 || !call.arguments.every(isPlain))
    problems.push("the endpoint is not declared with plain values");
  return problems;
}

function strayInIndex(statements: readonly ts.Statement[]): string[] {
  const last = statements.at(-1);
  const declared = last && ts.isVariableStatement(last) ? last.declarationList.declarations : [];
  const list = declared.length === 1 ? declared[0]?.initializer : undefined;
  const names = list && ts.isArrayLiteralExpression(list) && list.elements.every(ts.isIdentifier);
  // An empty list needs the runtime's type, and no module.
  const isEmpty = names && list.elements.length === 0;
  const from = isEmpty ? "@routewright/runtime" : /^\.\/routes\/[a-z0-9_~./-]+\.js$/;
  const imports = statements.slice(0, -1).every((statement) => isImport(statement, from));
  return [
    ...(imports ? [] : ["an import of something else"]),
    ...(names ? [] : ["the last is not the list"]),
  ];
}

function isImport(statement: ts.Statement, from: string | RegExp): boolean {
  if (!ts.isImportDeclaration(statement) || !ts.isStringLiteral(statement.moduleSpecifier)) return false;
  const { text } = statement.moduleSpecifier;
  return typeof from === "string" ? text === from : from.test(text);
}

function isInterface(statement: ts.Statement, name: string): boolean {
  return (
    ts.isInterfaceDeclaration(statement) &&
    statement.name.text === name &&
    (statement.members.every((member) => ts.isPropertySignature(member) && member.type !== undefined) ||
      (name === "Row" &&
        statement.members.every((member) => member.getText() === "[column: string]: unknown;")))
  );
}

/** A literal, or a list or an object of such. */
function isPlain(value: ts.Node): boolean {
  if (ts.isArrayLiteralExpression(value)) return value.elements.every(isPlain);
  if (ts.isObjectLiteralExpression(value)) {
    return value.properties.every(
      (property) =>
        ts.isPropertyAssignment(property) && isName(property.name) && isPlain(property.initializer),
    );
  }
  return (
    ts.isStringLiteral(value) ||
    ts.isNumericLiteral(value) ||
    [ts.SyntaxKind.TrueKeyword, ts.SyntaxKind.FalseKeyword, ts.SyntaxKind.NullKeyword].includes(value.kind)
  );
}

function isName(name: ts.PropertyName): boolean {
  if (ts.isComputedPropertyName(name)) return name.expression.getText() === '"__proto__"';
  return ts.isIdentifier(name) || ts.isStringLiteral(name);
}
