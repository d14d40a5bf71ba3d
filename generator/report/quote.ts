import { type Sentence, sentenceText } from "../lint/sentence.js";
import { visible } from "../manifest/json.js";

/** A text from outside is shown up to here, in characters; JSON reports have it whole. */
export const MAX_SHOWN = 240;

/** Text of a manifest on one line: line breaks and hidden characters are escaped, and the rest cut off. */
export function oneLine(text: string): string {
  const characters = Array.from(text.slice(0, 2 * MAX_SHOWN));
  const isCut = text.length > 2 * MAX_SHOWN || characters.length > MAX_SHOWN;
  const shown = isCut ? `${characters.slice(0, MAX_SHOWN).join("")}…` : text;
  return visible(shown.replaceAll("\n", "\\n"));
}

/** A sentence for a terminal or a program, on one line: names in quotation marks, unless one stands alone. */
export function plainText(sentence: Sentence): string {
  const [only] = sentence.names;
  if (typeof only === "string" && sentence.words.every((word) => word === "")) return oneLine(only);
  return sentenceText(sentence, (name) => `"${oneLine(name)}"`);
}

/** A code span, which nothing in the text can end: neither Markdown nor HTML nor a mention means anything in one. */
export function codeSpan(text: string): string {
  const line = oneLine(text);
  const longest = Math.max(0, ...Array.from(line.matchAll(/`+/g), ([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  const space = longest > 0 || line.trim() === "" ? " " : "";
  return `${fence}${space}${line}${space}${fence}`;
}
