import { hash } from "node:crypto";

/** Characters of a simple identifier (OData CSDL 4.01, 15.2). */
const MAX_NAME = 128;

const LETTER = /[\p{L}_]/u;
const WORD = /[\p{L}\p{Nd}]/u;

/** What an escape begins with: an underscore before it is escaped itself, so that no other name has the same text. */
const ESCAPE = /^x[0-9A-F]{4}/i;

/** The name of a column as a property: itself where it is an identifier of OData, else with `_x002D_` for each other character. */
export function propertyName(column: string): string {
  return bounded(escaped(column, LETTER, startsNoEscape));
}

/**
 * The name of the endpoint at a path: `/v1/shop/orders/daily` is `shop__orders__daily`. Two underscores stand for a slash alone, so that
 * no two paths have one name.
 */
export function setName(path: string): string {
  const [, , category = "", ...others] = path.split("/");
  const behind = others.map((segment) => escaped(segment, WORD, isSingle));
  return bounded([escaped(category, LETTER, isSingle), ...behind].join("__"));
}

/** Whether the underscore at a place can stand for itself. */
type IsKept = (characters: readonly string[], at: number) => boolean;

const startsNoEscape: IsKept = (characters, at) => !ESCAPE.test(characters.slice(at + 1, at + 6).join(""));

const isSingle: IsKept = (characters, at) =>
  WORD.test(characters[at - 1] ?? "") &&
  WORD.test(characters[at + 1] ?? "") &&
  startsNoEscape(characters, at);

/** `first`: what a name may begin with. */
function escaped(text: string, first: RegExp, isKept: IsKept): string {
  const characters = Array.from(text);
  return characters
    .map((character, at) => {
      const isPlain = character === "_" ? isKept(characters, at) : (at === 0 ? first : WORD).test(character);
      return isPlain ? character : escapeOf(character);
    })
    .join("");
}

function escapeOf(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return `_x${code.toString(16).toUpperCase().padStart(4, "0")}_`;
}

/** A longer name ends in its digest. */
function bounded(name: string): string {
  if (name.length <= MAX_NAME) return name;
  return `${name.slice(0, 96)}_xFFFF_${hash("sha256", name).slice(0, 24)}`;
}
