/** SQL expressions that a dbt project writes: formulas, dimensions and filters of its semantic models. */

/** A token of an expression: a quoted text or name, a word, or another character. */
const TOKEN = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|[A-Za-z_][A-Za-z0-9_]*|\d[\w.]*|\s+|./gsy;

/**
 * Why an expression cannot stand inside a statement; null where it can. Both engines must read the same tokens in it. `parts`: its
 * texts, with a value between each two.
 */
export function projectSqlProblem(parts: readonly string[]): string | null {
  const text = parts.join(" x ");
  if (text.trim() === "") return "it is empty";
  if (parts.some((part) => tokensOf(part).some(isOpenQuote))) return "a quote is not closed";
  if (text.includes("\0")) return "it contains the character U+0000";
  if (/\\['"`]/.test(text)) return "a backslash stands before a quote, which databases read differently";
  const open: string[] = [];
  for (const token of tokensOf(text)) {
    const problem = tokenProblem(token, open);
    if (problem !== null) return problem;
  }
  return open.length > 0 ? "a bracket is not closed" : commentProblem(text);
}

const CLOSING: Readonly<Record<string, string>> = { ")": "(", "]": "[" };

function tokenProblem(token: string, open: string[]): string | null {
  if (/^[;${}#]$/.test(token)) return `it contains ${token}`;
  if (token === "(" || token === "[") open.push(token);
  const opening = CLOSING[token];
  if (opening !== undefined && open.pop() !== opening) return "a bracket is closed that is not open";
  if (/^select$/i.test(token)) return "a subquery reads a relation whose rules cannot be applied";
  return null;
}

function commentProblem(text: string): string | null {
  const bare = tokensOf(text)
    .map((token) => (/^['"`]/.test(token) ? "''" : token))
    .join("");
  return /--|\/\*|\*\//.test(bare) ? "it contains a comment" : null;
}

const isOpenQuote = (token: string): boolean => /^['"`]$/.test(token);

export function tokensOf(text: string): readonly string[] {
  return text.match(TOKEN) ?? [];
}

type SqlToken<T> = string | T;

/** An expression whose divisions by zero are null, as a ratio's: databases fail, or answer with infinity. `parts`: its texts and values. */
export function withNullQuotients<T extends object>(parts: readonly SqlToken<T>[]): readonly SqlToken<T>[] {
  return guarded(
    parts.flatMap((part): readonly SqlToken<T>[] => (typeof part === "string" ? tokensOf(part) : [part])),
  );
}

function guarded<T extends object>(tokens: readonly SqlToken<T>[]): readonly SqlToken<T>[] {
  const made: SqlToken<T>[] = [];
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i] ?? "";
    made.push(token);
    if (token !== "/" && token !== "%") continue;
    const end = operandEnd(tokens, i + 1);
    const operand = tokens.slice(i + 1, end);
    if (operand.length > 0)
      made.push(...(isNeverZero(operand) ? operand : [" nullif(", ...guarded(operand), ", 0)"]));
    i = end - 1;
  }
  return made;
}

const isNeverZero = (operand: readonly SqlToken<object>[]): boolean =>
  operand.every((token) => typeof token === "string") && Number(operand.join("").trim() || Number.NaN) > 0;

/** The end of the operand that begins at a position: signs, a value, a name or a call, a bracket or a CASE, then its subscripts and casts. */
function operandEnd(tokens: readonly SqlToken<object>[], from: number): number {
  let i = skipped(tokens, from, /^[\s+-]+$/);
  const first = tokens[i];
  if (first === undefined) return i;
  if (first === "(") i = closing(tokens, i, "(", ")");
  else if (isToken(first, /^case$/i)) i = closing(tokens, i, "case", "end");
  else {
    i++;
    while (tokens[i] === "." && i + 1 < tokens.length) i += 2;
    const call = skipped(tokens, i, /^\s+$/);
    if (isToken(first, /^[A-Za-z_"`]/) && tokens[call] === "(") i = closing(tokens, call, "(", ")");
  }
  while (tokens[i] === "[") i = closing(tokens, i, "[", "]");
  while (tokens[i] === ":" && tokens[i + 1] === ":") {
    i = skipped(tokens, i + 2, /^\s+$/) + 1;
    if (tokens[i] === "(") i = closing(tokens, i, "(", ")");
  }
  return i;
}

const isToken = (token: SqlToken<object> | undefined, pattern: RegExp): boolean =>
  typeof token === "string" && pattern.test(token);

function skipped(tokens: readonly SqlToken<object>[], from: number, pattern: RegExp): number {
  let i = from;
  while (isToken(tokens[i], pattern)) i++;
  return i;
}

/** Behind the token that closes what a position opens. */
function closing(tokens: readonly SqlToken<object>[], from: number, open: string, close: string): number {
  let depth = 0;
  for (let i = from; i < tokens.length; i++) {
    const token = tokens[i];
    const word = typeof token === "string" ? token.toLowerCase() : "";
    if (word === open) depth++;
    if (word === close && --depth === 0) return i + 1;
  }
  return tokens.length;
}
