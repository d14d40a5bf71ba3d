import ts from "typescript";

/** One change of one place of a source. */
export interface Mutation {
  /** Offsets in the text of the file. */
  readonly start: number;
  readonly end: number;
  /** What replaces the text between them. */
  readonly text: string;
  readonly kind: "operator" | "condition" | "constant" | "return";
  /** The expression that it changes; null where that runs once, as its file is loaded. */
  readonly expression: Range | null;
}

/** Offsets in a text. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

const { SyntaxKind } = ts;

/** `operator: what stands in its place`. */
const OPERATORS: Readonly<Partial<Record<ts.SyntaxKind, string>>> = {
  [SyntaxKind.EqualsEqualsEqualsToken]: "!==",
  [SyntaxKind.ExclamationEqualsEqualsToken]: "===",
  [SyntaxKind.LessThanToken]: "<=",
  [SyntaxKind.LessThanEqualsToken]: "<",
  [SyntaxKind.GreaterThanToken]: ">=",
  [SyntaxKind.GreaterThanEqualsToken]: ">",
  [SyntaxKind.AmpersandAmpersandToken]: "||",
  [SyntaxKind.BarBarToken]: "&&",
  [SyntaxKind.PlusToken]: "-",
  [SyntaxKind.MinusToken]: "+",
  [SyntaxKind.AsteriskToken]: "/",
  [SyntaxKind.SlashToken]: "*",
};

/** Every mutation of a source, in the order of its text. */
export function mutationsOf(text: string): readonly Mutation[] {
  const source = ts.createSourceFile("source.ts", text, ts.ScriptTarget.Latest, true);
  const found: Mutation[] = [];
  const visit = (node: ts.Node): void => {
    // The tests run what is left once types are removed.
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node)) return;
    const add = (kind: Mutation["kind"], at: ts.Node, replacement: string, changed = at): void => {
      const expression = isInFunction(changed) ? rangeOf(changed, source) : null;
      found.push({ kind, ...rangeOf(at, source), text: replacement, expression });
    };
    if (ts.isBinaryExpression(node)) {
      const other = OPERATORS[node.operatorToken.kind];
      if (other !== undefined) add("operator", node.operatorToken, other, node);
    }
    const condition = conditionOf(node);
    if (condition) add("condition", condition, `!(${condition.getText(source)})`);
    if (ts.isNumericLiteral(node)) add("constant", node, `(${node.text} + 1)`);
    if (node.kind === SyntaxKind.TrueKeyword) add("constant", node, "false");
    if (node.kind === SyntaxKind.FalseKeyword) add("constant", node, "true");
    const result = resultOf(node);
    if (result && result.getText(source) !== "undefined") add("return", result, "undefined");
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found.sort((a, b) => a.start - b.start || a.end - b.end);
}

function rangeOf(node: ts.Node, source: ts.SourceFile): Range {
  return { start: node.getStart(source), end: node.end };
}

function isInFunction(node: ts.Node): boolean {
  return ts.findAncestor(node.parent, ts.isFunctionLike) !== undefined;
}

function conditionOf(node: ts.Node): ts.Expression | null {
  if (ts.isIfStatement(node) || ts.isWhileStatement(node)) return node.expression;
  return ts.isConditionalExpression(node) ? node.condition : null;
}

function resultOf(node: ts.Node): ts.Expression | null {
  if (ts.isReturnStatement(node)) return node.expression ?? null;
  return ts.isArrowFunction(node) && !ts.isBlock(node.body) ? node.body : null;
}

/** The source with a mutation in it. */
export function withMutation(source: string, { start, end, text }: Mutation): string {
  return source.slice(0, start) + text + source.slice(end);
}
