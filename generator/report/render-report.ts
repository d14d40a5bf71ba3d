import { visible } from "../manifest/strings.js";
import { githubReport } from "./github.js";
import { markdownReport } from "./markdown.js";
import type { Format, Report } from "./report.js";
import { sarifReport } from "./sarif.js";
import { type Terminal, textReport } from "./text.js";

/** A report in one of the formats, with a line break at its end. */
export function renderReport(report: Report, format: Format, terminal: Terminal = FILE): string {
  switch (format) {
    case "text":
      return textReport(report, terminal);
    case "markdown":
      return markdownReport(report);
    case "json":
      return jsonReport(report);
    case "github":
      return githubReport(report);
    case "sarif":
      return sarifReport(report);
  }
}

const FILE: Terminal = { width: null, hasColor: false };

/** The terminal behind standard output: it decides where lines wrap and whether colours are used (https://no-color.org). */
export function terminalOf(stream: NodeJS.WriteStream, environment: NodeJS.ProcessEnv): Terminal {
  if (!stream.isTTY) return FILE;
  return { width: stream.columns, hasColor: !environment["NO_COLOR"] && environment["TERM"] !== "dumb" };
}

/** Texts are whole and as the manifest has them, with hidden characters escaped. */
function jsonReport({ json }: Report): string {
  return `${JSON.stringify(json, null, 2).split("\n").map(visible).join("\n")}\n`;
}
