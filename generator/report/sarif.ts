import { sentenceText } from "../manifest/strings.js";
import { fileInRepository, type Item, oneLine, plainText, type Report } from "./report.js";

/** The report as SARIF 2.1.0, which code scanning of GitHub, GitLab and Azure DevOps shows. */
export function sarifReport(report: Report): string {
  const { sections, notes } = report;
  const items = sections.flatMap((section) => section.items);
  const rules = new Map(items.map(({ id, title }) => [id, { id, shortDescription: { text: title } }]));
  const log = {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: { driver: { name: "Routewright", rules: [...rules.values()] } },
        // Files are named from the root of the repository.
        originalUriBaseIds: { ROOT: { description: { text: "The root of the repository." } } },
        results: items.map((item) => result(item, fileInRepository(item, report))),
        invocations: [
          {
            executionSuccessful: true,
            toolExecutionNotifications: notes.map((note) => ({ message: { text: plainText(note) } })),
          },
        ],
      },
    ],
  };
  return `${JSON.stringify(log, null, 2)}\n`;
}

const LEVELS = { error: "error", warning: "warning", notice: "note" } as const;

function result({ level, id, title, endpoints, difference, details }: Item, file: string | null) {
  const lines = [
    `${title}: ${endpoints.map(oneLine).join(", ")}`,
    ...(difference === null ? [] : [sentenceText(difference, oneLine)]),
    ...details.map(plainText),
  ];
  // `encodeURI` throws for half a surrogate pair; a buffer replaces it.
  const uri = file === null ? null : encodeURI(Buffer.from(file).toString());
  return {
    ruleId: id,
    level: LEVELS[level],
    message: { text: lines.join("\n") },
    locations: uri === null ? [] : [{ physicalLocation: { artifactLocation: { uri, uriBaseId: "ROOT" } } }],
  };
}
