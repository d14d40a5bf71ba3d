/**
 * Names of operators, functions, types and collations in a statement that PostgreSQL looks up along the role's `search_path`: they
 * have no schema, or are of a construct that cannot name one (`IN`, `NULLIF`, `CASE x WHEN`, …). Relations are left to the statement.
 */
export function unqualifiedNames(statement: string): readonly string[] {
  const tokens = tokensOf(statement);
  // A session's own settings have no expressions.
  if (
    /^(set|reset|show|begin|start|commit|rollback|savepoint|release|deallocate|listen)$/.test(
      tokens[0]?.text ?? "",
    )
  )
    return statementsOf(tokens).slice(1).flatMap(namesOf);
  return statementsOf(tokens).flatMap(namesOf);
}

interface Token {
  readonly kind: "word" | "quoted" | "string" | "number" | "operator" | "mark";
  /** Of a word in lower case; of a string its text. */
  readonly text: string;
}

const TOKEN =
  /(?<skip>\s+|--[^\n]*|\/\*[^]*?\*\/)|(?<dollar>\$(?<tag>\w*)\$[^]*?\$\k<tag>\$)|(?<string>[eEbBxXnN]?'(?:[^'\\]|''|\\[^])*')|(?<quoted>"(?:[^"]|"")*")|(?<number>\$?\d[\d.]*(?:[eE][+-]?\d+)?)|(?<word>[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*)|(?<mark>::|:=|[()[\],;.:])|(?<operator>[-+*/<>=~!@#%^&|`?]+)/gy;

function tokensOf(sql: string): readonly Token[] {
  const tokens: Token[] = [];
  for (const { groups = {}, 0: text } of sql.matchAll(TOKEN)) {
    const kind = (["word", "quoted", "string", "number", "operator", "mark"] as const).find(
      (each) => groups[each] !== undefined,
    );
    if (kind !== undefined) tokens.push({ kind, text: kind === "word" ? text.toLowerCase() : text });
    else if (groups["dollar"] !== undefined) tokens.push(...bodyOf(groups["dollar"], groups["tag"] ?? ""));
  }
  return tokens;
}

/** The code of a `DO` block, as statements of its own. */
function bodyOf(dollar: string, tag: string): readonly Token[] {
  const end: Token = { kind: "mark", text: ";" };
  return [end, ...tokensOf(dollar.slice(tag.length + 2, -tag.length - 2)), end];
}

function statementsOf(tokens: readonly Token[]): readonly (readonly Token[])[] {
  const statements: Token[][] = [[]];
  for (const token of tokens)
    if (token.text === ";" && token.kind === "mark") statements.push([]);
    else statements.at(-1)!.push(token);
  return statements.filter((each) => each.length > 0);
}

/** Words in front of a parenthesis that call no function by the path: syntax, and what the grammar takes from `pg_catalog`. */
const SYNTAX = new Set(
  `all and any array as by cast case check coalesce conflict distinct do else end except exists extract filter from greatest group
  grouping having if inner intersect into join key lateral least left limit not offset on only operator or order outer over
  partition primary range references return returning right row rows select set some sets then union unique using values when
  where window with within perform execute prepare explain loop while elsif insert update is in`.split(/\s+/),
);
/** Types that the grammar takes from `pg_catalog`. */
const GRAMMAR_TYPES = new Set(
  "int integer smallint bigint real float double precision decimal dec numeric boolean bit character char varchar nchar time timestamp interval setof".split(
    " ",
  ),
);
const BY_THE_PATH = new Set(["in", "like", "ilike", "similar", "between", "nullif", "overlaps", "natural"]);

function namesOf(tokens: readonly Token[]): readonly string[] {
  if (/^(set|reset)$/.test(tokens[0]?.text ?? "")) return [];
  const found: string[] = [];
  const open: string[] = [];
  const at = (i: number): string => tokens[i]?.text ?? "";
  const isName = (i: number): boolean => /^(word|quoted)$/.test(tokens[i]?.kind ?? "");
  for (let i = 0; i < tokens.length; i++) {
    const { kind, text } = tokens[i]!;
    const [before, after] = [at(i - 1), at(i + 1)];
    if (text === "(")
      open.push(/^(cast|operator)$/.test(before) ? before : at(i - 2) === "as" ? "alias" : "");
    if (text === ")") open.pop();
    if (kind === "operator" && open.at(-1) !== "operator" && !isSyntax(tokens, i))
      found.push(`operator ${text}`);
    if (kind === "word" && BY_THE_PATH.has(text) && !isOther(text, before, after)) found.push(text);
    // With NULL it is a test for null, without an operator.
    if (text === "distinct" && after === "from" && at(i + 2) !== "null") found.push("is distinct from");
    if (text === "case" && kind === "word" && after !== "when" && before !== "end") found.push("case");
    if (text === "using" && after === "(") found.push("using");
    if (text === "collate" && !(isName(i + 1) && at(i + 2) === ".")) found.push(`collate ${after}`);
    if (isName(i) && after === "(" && before !== "." && isFunction(tokens, i)) found.push(`${text}()`);
    if (isTypeHere(tokens, i, open.at(-1)) && at(i + 1) !== "." && !GRAMMAR_TYPES.has(text))
      found.push(`type ${text}`);
  }
  return found;
}

/** A column of that name, or the frame of a window. */
function isOther(text: string, before: string, after: string): boolean {
  if (before === ".") return true;
  if (text === "between") return /^(rows|range|groups)$/.test(before);
  return text === "in" && after !== "(";
}

function isSyntax(tokens: readonly Token[], i: number): boolean {
  const { text } = tokens[i]!;
  const before = tokens[i - 1];
  if (text === "*") return before === undefined || /^([(,.]|select|distinct|returning)$/.test(before.text);
  // Of a number, PostgreSQL reads the sign with it.
  if (text === "-" && tokens[i + 1]?.kind === "number")
    return (
      before === undefined ||
      !(before.kind === "number" || before.kind === "quoted" || /^[)\]]$/.test(before.text))
    );
  if (text === "=>") return true;
  // An assignment: `SET requests = …`, `, rows = …` behind one.
  return (
    text === "=" &&
    before?.kind === "word" &&
    /^(set|,)$/.test(tokens[i - 2]?.text ?? "") &&
    isAssignment(tokens, i)
  );
}

const isAssignment = (tokens: readonly Token[], i: number): boolean =>
  tokens.slice(0, i).some(({ text }, n) => text === "update" && tokens[n + 1]?.text === "set");

function isFunction(tokens: readonly Token[], i: number): boolean {
  const { kind, text } = tokens[i]!;
  if (kind === "word" && (SYNTAX.has(text) || GRAMMAR_TYPES.has(text) || BY_THE_PATH.has(text))) return false;
  const before = tokens[i - 1]?.text ?? "";
  // An alias with its columns, a table of an INSERT, a common table expression, and a prepared statement.
  if (/^(as|with|recursive|execute|prepare|into|table|\))$/.test(before)) return false;
  return !(tokens[i - 2]?.text === "exists" || closes(tokens, i + 1, "as"));
}

/** Whether the parenthesis that opens at `i` is followed by a word: `name (columns) AS (…)`. */
function closes(tokens: readonly Token[], i: number, word: string): boolean {
  let depth = 0;
  for (let n = i; n < tokens.length; n++) {
    if (tokens[n]!.text === "(") depth++;
    if (tokens[n]!.text === ")" && --depth === 0)
      return tokens[n + 1]?.text === word && tokens[n + 2]?.text === "(";
  }
  return false;
}

function isTypeHere(tokens: readonly Token[], i: number, inside: string | undefined): boolean {
  const { kind, text } = tokens[i]!;
  if (kind !== "word" && kind !== "quoted") return false;
  const before = tokens[i - 1];
  if (before?.text === "::") return true;
  if (inside === "cast" && before?.text === "as") return true;
  // `date '2026-01-01'`
  if (kind === "word" && tokens[i + 1]?.kind === "string" && before?.text !== "." && !BEFORE_STRING.has(text))
    return true;
  // `AS r(day date, key text)`
  return (
    inside === "alias" &&
    before !== undefined &&
    /^(word|quoted)$/.test(before.kind) &&
    /^[(,]$/.test(tokens[i - 2]?.text ?? "")
  );
}

/** Words in front of a text that are no types. */
const BEFORE_STRING = new Set(
  `select and or not when then else as any in like ilike similar between is from where by on with set zone values return raise
  info notice exception escape limit offset case distinct using perform language as`.split(/\s+/),
);
