import ts from "typescript";

/** One change of one place of a source. */
export interface Mutation {
  readonly kind: "operator" | "condition" | "constant" | "return";
  /** The expression that it changes. */
  readonly expression: Range;
  /** What stands in its place. */
  readonly text: string;
  /** Whether it runs once, as its file is loaded. */
  readonly isStatic: boolean;
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
    const add = (kind: Mutation["kind"], at: ts.Node, replacement: string): void => {
      const expression = { start: at.getStart(source), end: at.end };
      found.push({ kind, expression, text: replacement, isStatic: !isInFunction(at) });
    };
    if (ts.isBinaryExpression(node)) {
      const other = otherOperator(node);
      const [left, right] = [node.left, node.right].map((operand) => enclosed(operand, source));
      if (other !== undefined) add("operator", node, `(${left} ${other} ${right})`);
    }
    const condition = conditionOf(node);
    if (condition) add("condition", condition, `!(${condition.getText(source)})`);
    if (ts.isNumericLiteral(node)) add("constant", node, `(${node.text} + 1)`);
    if (node.kind === SyntaxKind.TrueKeyword) add("constant", node, "false");
    if (node.kind === SyntaxKind.FalseKeyword) add("constant", node, "true");
    const result = resultOf(node);
    const other = result && otherResult(result, source);
    if (result && other && other !== result.getText(source)) add("return", result, other);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found.sort((a, b) => a.expression.start - b.expression.start || a.expression.end - b.expression.end);
}

/** Texts have no other operator than `+`. */
function otherOperator({ left, operatorToken, right }: ts.BinaryExpression): string | undefined {
  const isOfTexts = operatorToken.kind === SyntaxKind.PlusToken && (isText(left) || isText(right));
  return isOfTexts ? undefined : OPERATORS[operatorToken.kind];
}

/** An operand as it is written. The other operator may bind more closely than the operand's own. */
function enclosed(operand: ts.Expression, source: ts.SourceFile): string {
  const text = operand.getText(source);
  const isSplit =
    ts.isBinaryExpression(operand) || ts.isAsExpression(operand) || ts.isSatisfiesExpression(operand);
  return isSplit ? `(${text})` : text;
}

function isText(node: ts.Expression): boolean {
  return (
    ts.isStringLiteralLike(node) ||
    ts.isTemplateExpression(node) ||
    (ts.isBinaryExpression(node) && (isText(node.left) || isText(node.right)))
  );
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

/** A result of the same type, as far as the function names it or the expression shows it: most others would not compile. */
function otherResult(result: ts.Expression, source: ts.SourceFile): string | undefined {
  const type = ts.findAncestor(result, ts.isFunctionLike)?.type?.getText(source) ?? shownType(result);
  const own = /^Promise<(.*)>$/s.exec(type)?.[1] ?? type;
  if (/\| null$/.test(own)) return "null";
  if (/\| undefined$/.test(own)) return "undefined";
  if (/^readonly .*\[\]$|^[\w.]+\[\]$/s.test(own)) return "[]";
  if (own === "string") return '""';
  if (own === "number") return `(${result.getText(source)}) + 1`;
  return own === "boolean" || / is /.test(own) ? `!(${result.getText(source)})` : undefined;
}

const LISTS = new Set(["map", "flatMap", "filter", "sort", "slice", "split"]);

function shownType(result: ts.Expression): string {
  if (isText(result)) return "string";
  if (ts.isPrefixUnaryExpression(result) && result.operator === SyntaxKind.ExclamationToken) return "boolean";
  const called = ts.isCallExpression(result) ? result.expression : null;
  const isList = called && ts.isPropertyAccessExpression(called) && LISTS.has(called.name.text);
  return isList ? "readonly unknown[]" : "";
}

/** The source with a mutation in it. */
export function withMutation(source: string, { expression: { start, end }, text }: Mutation): string {
  return source.slice(0, start) + text + source.slice(end);
}
