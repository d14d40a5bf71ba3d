import { GROUP, groupTerms } from "./words.js";

/** Terms that one word stands for. */
const MAX_TERMS = 20;

/** How near a term is to the word that it stands for. */
export const NEARNESS = { word: 1, group: 0.8, part: 0.6, typo: 0.7 };

/** The terms of a catalogue that a word stands for, with their nearness. */
export function nearTerms(
  word: string,
  terms: ReadonlySet<string>,
): readonly (readonly [term: string, nearness: number])[] {
  const near: [string, number][] = [];
  if (terms.has(word)) near.push([word, NEARNESS.word]);
  for (const group of groupTerms(word)) if (terms.has(group)) near.push([group, NEARNESS.group]);
  const isKnown = near.length > 0;
  if (word.length < 4) return near;
  for (const term of terms) {
    if (near.length >= MAX_TERMS) break;
    if (term === word || term.startsWith(GROUP)) continue;
    if (isPart(word, term, isKnown)) near.push([term, NEARNESS.part]);
    else if (word.length >= 7 && isTypo(word, term)) near.push([term, NEARNESS.typo]);
  }
  return near;
}

/** Letters by which forms of one word differ. */
const MAX_ENDING = 3;

/** Whether a term is another form of a word, or ends with it: `crosschain` of `chain`. Of an unknown word it is any that begins with it. */
function isPart(word: string, term: string, isKnown: boolean): boolean {
  if (term.length < 4) return false;
  const longer = term.length - word.length;
  if (term.startsWith(word)) return !isKnown || longer <= MAX_ENDING;
  return term.endsWith(word) || (word.startsWith(term) && -longer <= MAX_ENDING);
}

/** Whether one letter is missing, too many or wrong. */
function isTypo(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1 || a[0] !== b[0]) return false;
  let start = 0;
  while (start < a.length && a[start] === b[start]) start++;
  const [restA, restB] = [a.slice(start), b.slice(start)];
  return restA.slice(1) === restB.slice(1) || restA === restB.slice(1) || restA.slice(1) === restB;
}
