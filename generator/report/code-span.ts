import { oneLine } from "./one-line.js";

/** A code span, which nothing in the text can end: neither Markdown nor HTML nor a mention means anything in one. */
export function codeSpan(text: string): string {
  const line = oneLine(text);
  const longest = Math.max(0, ...Array.from(line.matchAll(/`+/g), ([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  const space = longest > 0 || line.trim() === "" ? " " : "";
  return `${fence}${space}${line}${space}${fence}`;
}
