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
