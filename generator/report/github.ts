import { sentenceText } from "../manifest/strings.js";
import { counted, type Item, oneLine, plainText, type Report } from "./report.js";

/**
 * The report as commands of GitHub's workflows, which show each item at its model's file. GitHub keeps ten of each
 * level per step: the most serious come first, and the last lines, for the log, sum up.
 */
export function githubReport(report: Report): string {
  const { sections, notes, summary, verdict, project = "" } = report;
  const commands = sections.flatMap(({ items }) =>
    items.map((item) => annotation({ ...item, file: item.file === null ? null : project + item.file })),
  );
  return `${[...commands, ...notes.map(plainText), sentenceText(summary, oneLine), verdict].join("\n")}\n`;
}

/** A command that annotates a file, or the run where `file` is null. */
function annotation({ level, file, title, endpoints, difference, location, details }: Item): string {
  const [first = ""] = endpoints;
  const subject = endpoints.length === 1 ? oneLine(first) : counted(endpoints.length, "endpoint");
  const properties = [
    ...(file === null ? [] : [`file=${property(file)}`]),
    `title=${property(`${title}: ${subject}`)}`,
  ];
  const where = location.length === 0 ? "" : `(${location.map(oneLine).join(", ")})`;
  const message = [
    [...(difference === null ? [] : [sentenceText(difference, oneLine)]), where]
      .filter((part) => part !== "")
      .join(" "),
    ...details.map(plainText),
    ...(endpoints.length === 1 ? [] : endpoints.map(oneLine)),
  ];
  return `::${level} ${properties.join(",")}::${data(message.filter((line) => line !== "").join("\n"))}`;
}

/** Percent signs and line breaks would be read as the command's own. */
function data(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

/** In a property, colons and commas too. */
function property(text: string): string {
  return data(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
