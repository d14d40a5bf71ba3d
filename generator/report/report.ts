import type { Sentence } from "../lint/sentence.js";

/** The formats of a report. Loaded by the command line, so this file imports types only. */
export const FORMATS = ["text", "markdown", "json", "github"] as const;
export type Format = (typeof FORMATS)[number];

/** How much an item concerns its reader: the levels of GitHub's annotations. */
export type Level = "error" | "warning" | "notice";

/** One change or finding, or several that differ in nothing but their endpoint. */
export interface Item {
  readonly level: Level;
  /** The word in front: the severity, or what became of the item. */
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
  readonly items: readonly Item[];
  /** How many items a comment shows before it folds the rest. */
  readonly open: number;
}

/** A text block under its own heading, for comments on pull requests. */
export interface Block {
  readonly heading: string;
  readonly language: "diff" | "json";
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
  readonly blocks: readonly Block[];
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
