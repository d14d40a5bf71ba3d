import { visible } from "../manifest/hidden.js";

/** A text from outside is shown up to here, in characters; JSON reports have it whole. */
const MAX_SHOWN = 160;

/** Text of a manifest on one line: what is hidden is escaped, line breaks too, and the rest cut off. */
export function oneLine(text: string): string {
  const characters = Array.from(text.slice(0, 2 * MAX_SHOWN));
  const isCut = text.length > 2 * MAX_SHOWN || characters.length > MAX_SHOWN;
  return visible(isCut ? `${characters.slice(0, MAX_SHOWN).join("")}…` : text);
}
