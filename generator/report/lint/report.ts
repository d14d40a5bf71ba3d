import type { Format } from "../format.js";
import type { LintResult } from "../../lint/lint.js";
import { githubReport } from "./github.js";
import { jsonReport } from "./json.js";
import { markdownReport } from "./markdown.js";
import { textReport } from "./text.js";

/** The result in one of its forms, with a line break at its end. */
export function formatResult(result: LintResult, format: Format): string {
  switch (format) {
    case "text":
      return textReport(result);
    case "markdown":
      return markdownReport(result);
    case "json":
      return jsonReport(result);
    case "github":
      return githubReport(result);
  }
}
