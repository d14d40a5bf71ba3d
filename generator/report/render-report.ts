import { visible } from "../manifest/strings.js";
import { githubReport } from "./github.js";
import { markdownReport } from "./markdown.js";
import type { Format, Report } from "./report.js";
import { textReport } from "./text.js";

/** A report in one of the formats, with a line break at its end. */
export function renderReport(report: Report, format: Format): string {
  switch (format) {
    case "text":
      return textReport(report);
    case "markdown":
      return markdownReport(report);
    case "json":
      return jsonReport(report);
    case "github":
      return githubReport(report);
  }
}

/** Texts are whole and as the manifest has them, with hidden characters escaped. */
function jsonReport({ json }: Report): string {
  return `${JSON.stringify(json, null, 2).split("\n").map(visible).join("\n")}\n`;
}
