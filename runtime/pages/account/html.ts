import { escapeHtml } from "../pages.js";

/** A part of a document: markup with escaped texts. */
export class Html {
  constructor(readonly text: string) {}
}

type Part = Html | string | number | null | false | readonly (Html | null | false)[];

/** Markup of ours; every value in it that is no `Html` is escaped. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.map((each, i) => each + textOf(parts[i] ?? null)).join(""));
}

function textOf(part: Part): string {
  if (part === null || part === false) return "";
  if (part instanceof Html) return part.text;
  if (typeof part === "object") return part.map((each) => textOf(each)).join("");
  return escapeHtml(String(part));
}
