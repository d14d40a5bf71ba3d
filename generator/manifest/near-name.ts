import { Remembered } from "./remembered.js";
import { HIDDEN } from "./strings.js";

/** How sure it is that a text means one of our names: `near` is an error, `distant` a warning. */
export type Nearness = "near" | "distant";

/** A name of ours that a text probably means. */
export interface NearName {
  readonly name: string;
  readonly nearness: Nearness;
}

/** From this many letters on, a name is so rare that one edit counts. */
const LONG = 6;

/**
 * The name that a text probably means without being it. A name of six letters and more is near by one edit or swap, letter case,
 * separators or look-alikes, and distant by two edits; a shorter one is near by case, separators, look-alikes, a plural, doubled
 * or swapped letters only, so that `app` and `kpi` stay free beside `api`. `isOurs`: nothing foreign stands there, so one edit
 * or swap counts whatever the length.
 */
export function nearName(text: string, names: readonly string[], isOurs = false): NearName | null {
  if (names.includes(text) || text.length > MAX_LENGTH) return null;
  const list = `${isOurs ? "ours" : "others"} ${names.join(" ")}`;
  return remembered(list, text, () => nearestOf(text, names, isOurs));
}

function nearestOf(text: string, names: readonly string[], isOurs: boolean): NearName | null {
  const [low, looks] = [lowered(text), folded(text)];
  const near = names.find((name) => isNear(low, looks, { name, isOurs }));
  if (near !== undefined) return { name: near, nearness: "near" };
  const distant = names.find((name) => name.length >= LONG && editDistance(low, name, 2) <= 2);
  return distant === undefined ? null : { name: distant, nearness: "distant" };
}

/** Edits by which a text may differ from the namespace: nobody else has such a key, and all settings are in it. */
const NAMESPACE_EDITS = 3;

/** Whether a key is probably a misspelt namespace: `routewrite`, `Route-Wrigth`; `playwright` and `copyright` are others. */
export function isNearNamespace(text: string, namespace: string): boolean {
  if (text === namespace || text.length > MAX_LENGTH) return false;
  const near = { name: namespace, nearness: "near" } as const;
  return remembered("namespace", text, () => (isMisspelt(text, namespace) ? near : null)) !== null;
}

function isMisspelt(text: string, namespace: string): boolean {
  const [plain, looks] = [lowered(text).replace(/[\s\p{P}\p{S}]/gu, ""), folded(text)];
  return [plain, looks].some(
    (each) =>
      editDistance(each, each === looks ? folded(namespace) : namespace, NAMESPACE_EDITS) <= NAMESPACE_EDITS,
  );
}

/** By list of names: the same keys and tags stand at thousands of models. Bounded by the names of ours. */
const FOUND = new Map<string, Remembered<NearName | null>>();

function remembered(list: string, text: string, find: () => NearName | null): NearName | null {
  const found = FOUND.get(list) ?? new Remembered(MOST_TEXTS);
  FOUND.set(list, found);
  return found.of(text, find);
}

/** Texts that are kept of a list. */
const MOST_TEXTS = 10_000;

/** No misspelling of a name of ours is longer. */
const MAX_LENGTH = 60;

interface OurName {
  readonly name: string;
  readonly isOurs: boolean;
}

function isNear(low: string, a: string, { name, isOurs }: OurName): boolean {
  const b = looksOf(name);
  if (a === b) return true;
  if (isOurs || name.length >= LONG) return isWithinOneEdit(a, b) || isWithinOneEdit(low, name.toLowerCase());
  const isDoubled = a.length > b.length && withoutDoubles(a) === withoutDoubles(b);
  return `${b}s` === a || isDoubled || areSwapped(...withoutCommonStart(a, b));
}

/** Whether two texts are equal or differ by one inserted, deleted or replaced character, or by two swapped ones. */
export function isWithinOneEdit(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1) return false;
  const [restA, restB] = withoutCommonStart(a, b);
  return (
    restA.slice(1) === restB.slice(1) ||
    restA.slice(1) === restB ||
    restA === restB.slice(1) ||
    areSwapped(restA, restB)
  );
}

function areSwapped(a: string, b: string): boolean {
  return a.length > 1 && a[0] === b[1] && a[1] === b[0] && a.slice(2) === b.slice(2);
}

function withoutCommonStart(a: string, b: string): readonly [string, string] {
  let start = 0;
  while (start < a.length && a[start] === b[start]) start++;
  return [a.slice(start), b.slice(start)];
}

/** `appi` → `api`; a letter that a name has twice by itself counts as one on both sides. */
function withoutDoubles(text: string): string {
  return text.replace(/(.)\1+/gu, "$1");
}

/** Bounded by the names of ours. */
const LOOKS = new Map<string, string>();

function looksOf(name: string): string {
  const looks = LOOKS.get(name) ?? folded(name);
  LOOKS.set(name, looks);
  return looks;
}

/** Edits and swaps between two texts; more than `most` may be any larger number. */
function editDistance(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1;
  let [before, row]: [number[], number[]] = [[], Array.from({ length: b.length + 1 }, (_, i) => i)];
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      const swap =
        a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? (before[j - 2] ?? Infinity) + 1 : Infinity;
      next.push(
        Math.min((row[j - 1] ?? 0) + (isSame ? 0 : 1), (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, swap),
      );
    }
    // Each edit of what follows adds to one of these two rows.
    if (Math.min(...row) >= most && Math.min(...next) > most) return most + 1;
    [before, row] = [row, next];
  }
  return row[b.length] ?? 0;
}

/** In lower case, without accents and what cannot be seen: `RóuteWright` → `routewright`. */
function lowered(text: string): string {
  // Nearly all keys and tags; a manifest has tens of thousands.
  if (IS_ASCII.test(text)) return text.toLowerCase();
  return text.normalize("NFKD").replace(/\p{M}/gu, "").replace(HIDDEN, "").toLowerCase();
}

/** Without control characters, which are hidden. */
const IS_ASCII = /^[ -~]*$/;
const ASCII_LOOK_ALIKES = /[l1|!05$]/g;

/** As it looks: separators gone, each look-alike the letter that it looks like. */
export function folded(text: string): string {
  const low = lowered(text);
  const letters = low.replace(
    IS_ASCII.test(low) ? ASCII_LOOK_ALIKES : /./gsu,
    (letter) => LETTER_OF.get(letter) ?? letter,
  );
  return letters
    .replace(/[\s\p{P}\p{S}]/gu, "")
    .replaceAll("rn", "m")
    .replaceAll("vv", "w");
}

/**
 * Letters and digits that look like a letter of ours, after compatibility forms (`ａ`, `𝐚`) and accents are gone: from
 * Unicode's confusables.txt. `l`, `1` and `|` look like `i`.
 */
const LOOK_ALIKES: Readonly<Record<string, string>> = {
  a: "\u0251 \u03b1 \u0430 \u15c5 \ua4ee \uab7a",
  b: "\u0185 \u03b2 \u0432 \u044c \u13fc \u1472 \u15af \u15f7 \ua4d0 \ua7b5 \uab9f",
  c: "\u03c2 \u03c3 \u0441 \u1d04 \u2ca5 \ua4da \uabaf",
  d: "\u0501 \u146f \u15de \u15ea \ua4d2 \ua4d3 \uab70 \uabb7",
  e: "\u03b5 \u0435 \u04bd \u2d39 \ua4f0 \uab32 \uab7c",
  f: "\u03dd \u0584 \u15b4 \u1e9d \ua4dd \ua799 \uab35",
  g: "\u018d \u0261 \u050d \u0581 \u13fb \u1d83 \ua4d6 \uab90",
  h: "\u03b7 \u043d \u04bb \u0570 \u157c \u2c8f \ua4e7 \uab8b \uab92",
  i: "\u0131 \u01c0 \u0269 \u026a \u03b9 \u0456 \u04cf \u14aa \u16c1 \u2c93 \u2cd1 \u2d4f \ua4e1 \ua4f2 \ua647 \uab75 \uabae",
  j: "\u029d \u03f3 \u0458 \u148d \ua4d9 \uab7b",
  k: "\u03ba \u043a \u16d5 \u2c95 \ua4d7 \uabb6",
  m: "\u03bc \u03fb \u043c \u15f0 \u16d6 \u2c99 \ua4df \uab87",
  n: "\u03bd \u0578 \u057c \u2c9b \ua4e0",
  o: "\u03bf \u043e \u0585 \u0b20 \u0d20 \u101d \u10ff \u12d0 \u1d0f \u1d11 \u2c9f \u2d54 \ua4f3 \uab3d",
  p: "\u03c1 \u0440 \u146d \u2ca3 \ua4d1 \uabb2",
  q: "\u051b \u0563 \u0566 \u2d55",
  r: "\u0280 \u0433 \u1587 \u1d26 \u2c85 \ua4e3 \uab47 \uab48 \uab71 \uab81 \uaba2",
  s: "\u01bd \u0455 \u057f \ua4e2 \ua731 \uaba5 \uabaa",
  t: "\u03c4 \u0442 \u2ca7 \ua4d4 \uab72",
  u: "\u028b \u03c5 \u057d \u1200 \u144c \u1d1c \ua4f4 \ua79f \uab4e \uab52",
  v: "\u0475 \u142f \u1d20 \u2d38 \ua4e6 \ua6df \uaba9",
  w: "\u026f \u0461 \u051d \u0561 \u1d21 \ua4ea \uab83 \uaba4",
  x: "\u03c7 \u0445 \u1541 \u157d \u16b7 \u2cad \u2d5d \ua4eb \uab53",
  y: "\u0263 \u028f \u03b3 \u0443 \u04af \u10e7 \u1d8c \u1eff \u2ca9 \ua4ec \uab5a \uab79 \uab8d",
  z: "\u03b6 \u1d22 \ua4dc \uab93",
};

const LETTER_OF: ReadonlyMap<string, string> = new Map([
  ...Object.entries(LOOK_ALIKES).flatMap(([letter, all]) =>
    all.split(" ").map((one) => [one, letter] as const),
  ),
  ...["l", "1", "|", "!"].map((one) => [one, "i"] as const),
  ["0", "o"],
  ["5", "s"],
  ["$", "s"],
]);
