import { visible } from "../manifest/hidden.js";

/** A text from outside is shown up to here, in characters; JSON reports have it whole. */
export const MAX_SHOWN = 240;

/** Text of a manifest on one line: line breaks and what is hidden are escaped, and the rest cut off. */
export function oneLine(text: string): string {
  const characters = Array.from(text.slice(0, 2 * MAX_SHOWN));
  const isCut = text.length > 2 * MAX_SHOWN || characters.length > MAX_SHOWN;
  const shown = isCut ? `${characters.slice(0, MAX_SHOWN).join("")}…` : text;
  return visible(shown.replaceAll("\n", "\\n"));
}
