import { HIDDEN } from "../manifest/hidden.js";

/** A doc comment of some paragraphs, each line behind `indent` spaces; empty without text. Ends with a line break. */
export function docComment(paragraphs: readonly string[], indent: number): string {
  const lines = paragraphs
    .map(commentLines)
    .filter((paragraph) => paragraph.length > 0)
    .flatMap((paragraph, i) => (i === 0 ? paragraph : ["", ...paragraph]));
  const margin = " ".repeat(indent);
  if (lines.length === 0) return "";
  if (lines.length === 1) return `${margin}/** ${lines[0] ?? ""} */\n`;
  return `${margin}/**\n${lines.map((line) => `${margin} *${line && ` ${line}`}\n`).join("")}${margin} */\n`;
}

/** Text for the rest of a `//` line. */
export function lineComment(text: string): string {
  return commentLines(text).join(" ");
}

/** Text as lines that can neither end a comment nor hide in one, nor be taken for a directive such as `@ts-ignore`. */
function commentLines(text: string): string[] {
  const lines = text
    .split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/)
    .map((line) => line.replace(HIDDEN, " ").trimEnd());
  while (lines[0] === "") lines.shift();
  while (lines.at(-1) === "") lines.pop();
  return lines.map((line) => line.replaceAll("*/", "*\\/").replace(/(?<!\\)@(?=\w)/g, "\\@"));
}
