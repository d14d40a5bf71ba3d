import { sentenceText } from "../manifest/strings.js";
import { type Item, oneLine, plainText, type Report } from "./report.js";

/** The report as SARIF 2.1.0, which code scanning of GitHub, GitLab and Azure DevOps shows. */
export function sarifReport({ sections, notes, project = "" }: Report): string {
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
        results: items.map((item) => result(item, project)),
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

function result({ level, label, id, title, endpoints, difference, file, details }: Item, project: string) {
  const lines = [
    `${title}: ${endpoints.map(oneLine).join(", ")}`,
    ...(difference === null ? [] : [sentenceText(difference, oneLine)]),
    ...details.map(plainText),
  ];
  // The accept file of an expired entry is not in the dbt project.
  const path = (label === "expired" ? "" : project) + (file ?? "");
  // `encodeURI` throws for half a surrogate pair; a buffer replaces it.
  const uri = file === null ? null : encodeURI(Buffer.from(path).toString());
  return {
    ruleId: id,
    level: LEVELS[level],
    message: { text: lines.join("\n") },
    locations: uri === null ? [] : [{ physicalLocation: { artifactLocation: { uri, uriBaseId: "ROOT" } } }],
    // The same finding of another run, whatever its words.
    partialFingerprints: { "endpoint/v1": [id, ...endpoints].join(" ") },
  };
}
