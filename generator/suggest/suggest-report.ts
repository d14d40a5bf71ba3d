import { groupedBy } from "@routewright/runtime/model";
import { visible } from "../manifest/strings.js";
import { counted } from "../report/report.js";
import type { EditedFile } from "./project-files.js";
import type { Suggestion } from "./suggestion.js";

/** Suggestions for people: by endpoint, each with its reason and figures, then the statements for the database. */
export function suggestText(suggestions: readonly Suggestion[], files: readonly EditedFile[]): string {
  const byPath = groupedBy(suggestions, ({ path }) => path);
  const parts = [...byPath].map(([path, own]) =>
    [`${path}  (${own[0]?.model ?? ""})`, ...own.map(lineOf)].join("\n"),
  );
  const statements = suggestions.flatMap(({ statement }) =>
    statement === undefined ? [] : [`${statement};`],
  );
  return visibleLines([
    ...parts,
    ...(statements.length === 0
      ? []
      : [
          [
            "For the database (the next build of dbt makes them too, where the YAML has them):",
            ...statements,
          ].join("\n"),
        ]),
    ...files.map(diffOf),
    suggestions.length === 0
      ? "Nothing to suggest."
      : `${counted(suggestions.length, "suggestion")} for ${counted(byPath.size, "endpoint")}, in ${counted(files.length, "file")}.`,
  ]);
}

function lineOf({ kind, subject, reason, figures }: Suggestion): string {
  return `  ${kind.padEnd(16)}${subject}: ${[reason, ...figures].join("; ")}.`;
}

/** The new lines of a file, each with its number: edits only add lines or lengthen one. */
function diffOf({ file, before, after }: EditedFile): string {
  const [old, now] = [(before ?? "").split("\n"), after.split("\n")];
  const lines: string[] = [];
  let at = 0;
  for (const [i, line] of now.entries()) {
    if (line === old[at]) {
      at++;
      continue;
    }
    const kept = old[at];
    if (kept !== undefined && !now.slice(i).includes(kept)) {
      lines.push(`- ${kept}`);
      at++;
    }
    lines.push(`+ ${line}`);
  }
  return [`--- ${file}${before === null ? " (new)" : ""}`, ...lines].join("\n");
}

/** Nothing in it moves a terminal's cursor. */
function visibleLines(parts: readonly string[]): string {
  return `${parts
    .join("\n\n")
    .split("\n")
    .map((line) => visible(line))
    .join("\n")}\n`;
}
