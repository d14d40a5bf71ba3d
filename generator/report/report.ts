import { type Sentence, sentenceText, visible } from "../manifest/strings.js";
/** The formats of a report. */
export const FORMATS = ["text", "markdown", "json", "github", "sarif"] as const;
export type Format = (typeof FORMATS)[number];

/** Severity of an item: the levels of GitHub's annotations. */
export type Level = "error" | "warning" | "notice";

/** One change or finding; in a report for people, several that differ in nothing but their endpoint. */
export interface Item {
  readonly level: Level;
  /** The first word of a line: the severity, `accepted` or `suppressed`. */
  readonly label: string;
  /** Id of the kind or rule. */
  readonly id: string;
  readonly title: string;
  /** Paths, or a model's id where it has no endpoint: at least one. */
  readonly endpoints: readonly string[];
  /** What differs; null where id and endpoint say it all. */
  readonly difference: Sentence | null;
  /** Model, file and so on of a single endpoint. */
  readonly location: readonly string[];
  readonly file: string | null;
  readonly details: readonly Sentence[];
}

export interface Section {
  readonly heading: string;
  /** One by one: formats for people join them (`grouped`). */
  readonly items: readonly Item[];
  /** How many items a comment shows before it folds the rest. */
  readonly open: number;
}

/** Of a section this many items are open in a comment, the others folded. */
export const OPEN_ITEMS = 10;

/** A text block under its own heading, for comments on pull requests. */
export interface Block {
  readonly heading: string;
  readonly language: "json";
  readonly text: string;
}

/** What a command found, ready for every format. */
export interface Report {
  /** `API changes` or `API lint`. */
  readonly title: string;
  /** Whether the run fails, and why. */
  readonly verdict: string;
  /** Counts. */
  readonly summary: Sentence;
  readonly notes: readonly Sentence[];
  readonly sections: readonly Section[];
  /** What becomes of recorded requests: for people and JSON, since it is nothing to annotate. */
  readonly requests?: Section;
  readonly blocks: readonly Block[];
  /** The dbt project's folder in its repository, with `/` at its end: annotations name files by the repository's root. */
  readonly project?: string;
  /** The document of the JSON format. */
  readonly json: unknown;
}

/** Joins items that differ in nothing but their endpoint, in the order of the first of each. */
export function grouped(items: readonly Item[]): readonly Item[] {
  const groups = new Map<string, Item>();
  for (const item of items) {
    const { label, id, difference, details } = item;
    const key = JSON.stringify([label, id, difference, details]);
    const known = groups.get(key);
    const endpoints = [...(known?.endpoints ?? []), ...item.endpoints];
    groups.set(key, known === undefined ? item : { ...known, endpoints, location: [] });
  }
  return [...groups.values()];
}

export function counted(count: number, word: string): string {
  return `${String(count)} ${word}${count === 1 ? "" : "s"}`;
}

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
