/** GitHub refuses a comment of more than 65,536 characters: this leaves room for headings, and for what a bot adds. */
const MAX_CHARACTERS = 60_000;

/** A part of a comment: a heading and a list under it. */
export interface Section {
  readonly heading: string;
  /** Markdown list items. */
  readonly items: readonly string[];
  /** How many are not folded. */
  readonly open: number;
}

/** Markdown for a comment on a pull request: sections without items left out, long ones folded, within GitHub's limit. */
export function commentText(head: readonly string[], sections: readonly Section[]): string {
  let room = MAX_CHARACTERS;
  const told = sections.filter(({ items }) => items.length > 0);
  const parts = told.map((section) => {
    const items = section.items.filter((item) => (room -= item.length + 1) > 0);
    return sectionText(section, items);
  });
  return `${[...head, ...parts].join("\n\n")}\n`;
}

function sectionText({ heading, items: all, open }: Section, items: readonly string[]): string {
  const folded = items.slice(open);
  const left = all.length - items.length;
  const summary = open === 0 ? String(folded.length) : `${String(folded.length)} more`;
  return [
    `#### ${heading} (${String(all.length)})`,
    ...(open === 0 || items.length === 0 ? [] : [items.slice(0, open).join("\n")]),
    ...(folded.length === 0
      ? []
      : [`<details><summary>${summary}</summary>\n\n${folded.join("\n")}\n\n</details>`]),
    ...(left === 0
      ? []
      : [`${String(left)} are left out here: \`--format text\` and \`--format json\` tell all.`]),
  ].join("\n\n");
}
