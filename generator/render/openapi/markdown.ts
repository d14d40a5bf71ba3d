/** The non-empty texts as Markdown paragraphs. */
export function paragraphs(...texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join("\n\n");
}

/** Names as Markdown code, separated by commas. */
export function codeList(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(", ");
}
