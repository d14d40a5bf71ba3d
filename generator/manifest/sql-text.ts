/** A comment, a quoted text or name, a word, white space, or another character. Comments do not nest here: the outer end is looked for. */
const TOKEN =
  /--[^\n]*|\/\*|'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|[\p{L}_][\p{L}\p{N}_$]*|\d[\w.]*|\s+|./gsuy;

/** Expressions of a dbt project without their comments, each of which is a space. One that is not closed stays. */
export function withoutComments(sql: string): string {
  if (!/--|\/\*/.test(sql)) return sql;
  let text = "";
  const pattern = new RegExp(TOKEN);
  for (let match = pattern.exec(sql); match !== null; match = pattern.exec(sql)) {
    const [token] = match;
    if (token === "/*") {
      const end = endOfComment(sql, match.index);
      if (end === null) return text + sql.slice(match.index);
      pattern.lastIndex = end;
      text += " ";
    } else text += token.startsWith("--") ? " " : token;
  }
  return text.trim();
}

/** Behind a comment, which may hold others, as in PostgreSQL; null where it has no end. */
function endOfComment(sql: string, start: number): number | null {
  let depth = 0;
  for (const { 0: mark, index } of sql.slice(start).matchAll(/\/\*|\*\//g)) {
    depth += mark === "/*" ? 1 : -1;
    if (depth === 0) return start + index + 2;
  }
  return null;
}

/**
 * An expression as its tokens: white space, comments, the letter case of key words and one pair of parentheses around the whole
 * do not count; names and literals keep their case.
 */
export function canonicalSql(sql: string): string {
  const tokens = (withoutComments(sql).match(TOKEN) ?? [])
    .filter((token) => token.trim() !== "")
    .map((token) => (KEY_WORDS.has(token.toLowerCase()) ? token.toLowerCase() : token));
  const inner = tokens.slice(1, -1);
  return (tokens[0] === "(" && tokens.at(-1) === ")" && isBalanced(inner) ? inner : tokens).join(" ");
}

function isBalanced(tokens: readonly string[]): boolean {
  let depth = 0;
  for (const token of tokens) {
    depth += token === "(" ? 1 : token === ")" ? -1 : 0;
    if (depth < 0) return false;
  }
  return depth === 0;
}

/** Words that no column has without quotes, in either engine. */
const KEY_WORDS: ReadonlySet<string> = new Set([
  ...[
    "all",
    "and",
    "any",
    "as",
    "asc",
    "between",
    "both",
    "case",
    "cast",
    "collate",
    "desc",
    "distinct",
    "else",
    "end",
  ],
  ...[
    "false",
    "from",
    "ilike",
    "in",
    "is",
    "leading",
    "like",
    "not",
    "null",
    "or",
    "similar",
    "symmetric",
    "then",
  ],
  ...["trailing", "true", "when", "where"],
]);
