import { type Child, el } from "./dom.js";

const WORDS =
  /\b(import|from|as|while|if|else|then|do|done|def|function|return|await|const|let|new|throw|in|is|not|and|or|null|NULL|library|interface|type|each|true|false|SELECT|FROM|CREATE|SECRET|INSTALL|LOAD|MAP|TYPE)\b/;

/** Comments, strings, words of the language and numbers, in this order. */
const TOKEN = new RegExp(
  `((?:^|(?<=\\s))(?:#(?!")|//)[^\\n]*)|("(?:[^"\\\\\\n]|\\\\.)*"|'(?:[^'\\\\\\n]|\\\\.)*')|(${WORDS.source})|(\\b\\d[\\d_.]*\\b)`,
  "gm",
);
const STYLES = ["comment", "string", "word", "digits"] as const;

/** A text of code with its parts in colours. The text itself stays as it is. */
export function coloured(text: string): readonly Child[] {
  const parts: Child[] = [];
  let at = 0;
  for (const match of text.matchAll(TOKEN)) {
    parts.push(text.slice(at, match.index));
    const style = STYLES[[match[1], match[2], match[3], match[5]].findIndex((group) => group !== undefined)];
    parts.push(el(`span.code-${style ?? "word"}`, match[0]));
    at = match.index + match[0].length;
  }
  return [...parts, text.slice(at)];
}
