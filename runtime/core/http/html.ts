/** A part of a document: markup with escaped texts. Only `html` makes it. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type HtmlPart = Html | string | number | null | false | readonly (Html | null | false)[];

/** Markup of ours. Every value in it that is no `Html` is escaped; null and false show nothing. */
export function html(strings: TemplateStringsArray, ...parts: readonly HtmlPart[]): Html {
  return new Html(strings.map((each, i) => each + textOf(parts[i] ?? null)).join(""));
}

function textOf(part: HtmlPart): string {
  if (part === null || part === false) return "";
  if (part instanceof Html) return part.text;
  if (typeof part === "object") return part.map((each) => textOf(each)).join("");
  return String(part).replace(/[&<>"'`]/g, (character) => `&#${String(character.charCodeAt(0))};`);
}
