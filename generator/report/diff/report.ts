import type { Judgement } from "../../diff/judgement.js";
import type { Format } from "../format.js";
import { githubReport } from "./github.js";
import { jsonReport } from "./json.js";
import { markdownReport } from "./markdown.js";
import { textReport } from "./text.js";

/** What a run found, ready to be told. */
export interface Report extends Judgement {
  /** The sides as they are shown: without the password of an address. */
  readonly base: string;
  readonly head: string;
  /** Where the accept file is; null when there is none. */
  readonly acceptFile: string | null;
}

/** The report in one of its forms, with a line break at its end. */
export function formatReport(report: Report, format: Format): string {
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
