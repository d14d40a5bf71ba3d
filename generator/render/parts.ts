import { readFileSync } from "node:fs";

/** A stretch of generated source: text as it is, or a hole that is filled in. */
export type Part = { readonly text: string } | { readonly hole: string };

/** The typed templates, cut at their holes by skeleton.ts when Routewright is built. */
export interface Skeletons {
  readonly route: readonly Part[];
  /** Properties of a route's declaration, in the order in which they are written. */
  readonly properties: readonly string[];
  readonly index: readonly Part[];
}

/** Where the build puts the cut templates: in the package's `dist/`, for the sources and the bundle alike. */
const SKELETONS_FILE = new URL(import.meta.url.replace(/^(.*\/generator\/).*$/, "$1dist/skeletons.json"));

let loaded: Skeletons | undefined;

export function skeletons(): Skeletons {
  loaded ??= JSON.parse(readFileSync(SKELETONS_FILE, "utf8")) as Skeletons;
  return loaded;
}

/** Joins the parts of a template, each hole filled with its text; a hole that nobody fills is a fault of this code. */
export function fill(parts: readonly Part[], texts: Readonly<Record<string, string>>): string {
  return parts.map((part) => ("text" in part ? part.text : textOf(part.hole, texts))).join("");
}

function textOf(hole: string, texts: Readonly<Record<string, string>>): string {
  const text = texts[hole];
  if (text === undefined) throw new Error(`The template has a hole \`${hole}\` that nothing fills.`);
  return text;
}
