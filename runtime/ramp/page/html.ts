/** Text that may stand in a page as it is: only `html` makes it. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type Part = Html | readonly Html[] | string | null;

/** Puts a page together. Whatever is not `Html` already is shown as the text that it is; null shows nothing. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return new Html(strings.reduce((text, string, i) => text + textOf(parts[i - 1] ?? null) + string));
}

function textOf(part: Part): string {
  if (part === null) return "";
  if (typeof part === "string") return escapeText(part);
  if (part instanceof Html) return part.text;
  return part.map(({ text }) => text).join("");
}

function escapeText(text: string): string {
  return text.replace(/[&<>"'`]/g, (character) => `&#${String(character.charCodeAt(0))};`);
}
