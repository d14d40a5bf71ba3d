import { type InterfaceDeclaration, Node, Project, type SourceFile, SyntaxKind } from "ts-morph";
import type { Part, Skeletons } from "./parts.js";

interface Hole {
  readonly hole: string;
  /** Offsets in the template's text. */
  readonly start: number;
  readonly end: number;
}

/**
 * Cuts the templates at what differs from model to model. A template is ordinary code that the compiler checks; here
 * its syntax tree tells where the holes are. This is done when Routewright is built, not when it runs: loading the
 * compiler takes longer than rendering a whole catalogue.
 */
export function cutSkeletons(templates: { readonly route: string; readonly index: string }): Skeletons {
  const project = new Project({ useInMemoryFileSystem: true });
  const route = project.createSourceFile("route.ts", templates.route);
  const index = project.createSourceFile("index.ts", templates.index);
  return {
    route: cut(templates.route, routeHoles(route)),
    properties: declarationOf(route)
      .getProperties()
      .filter(Node.isPropertyAssignment)
      .map((property) => property.getName()),
    index: cut(templates.index, indexHoles(index)),
  };
}

function routeHoles(file: SourceFile): Hole[] {
  const handlers = file.getFirstDescendantOrThrow(Node.isObjectBindingPattern);
  return [
    modelHole(file),
    ...interfaceHoles(file.getInterfaceOrThrow("Row"), "row", "columns"),
    ...interfaceHoles(file.getInterfaceOrThrow("Query"), "query", "parameters"),
    { hole: "handlers", start: handlers.getStart(), end: handlers.getEnd() },
    spanOf("declaration", declarationOf(file)),
  ];
}

function indexHoles(file: SourceFile): Hole[] {
  const list = file.getVariableDeclarationOrThrow("endpoints");
  return [
    spanOf("imports", file.getFirstDescendantOrThrow(Node.isImportDeclaration)),
    { hole: "endpoints", start: list.getNameNode().getEnd(), end: list.getEnd() },
  ];
}

function spanOf(hole: string, node: { getStart(): number; getEnd(): number }): Hole {
  return { hole, start: node.getStart(), end: node.getEnd() };
}

/** The object literal that `defineEndpoint` takes. */
function declarationOf(file: SourceFile) {
  return file.getFirstDescendantOrThrow(Node.isObjectLiteralExpression);
}

/** The model's name in the header comment. */
function modelHole(file: SourceFile): Hole {
  const start = file.getFullText().indexOf("$model");
  return { hole: "model", start, end: start + "$model".length };
}

/** An interface's doc comment with the line break behind it, and all between its braces. */
function interfaceHoles(declaration: InterfaceDeclaration, doc: string, members: string): Hole[] {
  const comment = declaration.getJsDocs()[0] ?? declaration;
  const open = declaration.getFirstChildByKindOrThrow(SyntaxKind.OpenBraceToken);
  const close = declaration.getFirstChildByKindOrThrow(SyntaxKind.CloseBraceToken);
  return [
    { hole: doc, start: comment.getStart(), end: declaration.getStart() },
    { hole: members, start: open.getEnd(), end: close.getStart() },
  ];
}

function cut(text: string, holes: readonly Hole[]): Part[] {
  const parts: Part[] = [];
  let done = 0;
  for (const { hole, start, end } of holes) {
    parts.push({ text: text.slice(done, start) }, { hole });
    done = end;
  }
  return [...parts, { text: text.slice(done) }];
}
