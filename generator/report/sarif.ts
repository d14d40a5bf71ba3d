import { createHash } from "node:crypto";
import { sentenceText } from "../manifest/strings.js";
import { type Item, oneLine, plainText, type Report } from "./report.js";

/** The report as SARIF 2.1.0, which code scanning of GitHub, GitLab and Azure DevOps shows: a result per item. */
export function sarifReport({ sections, notes, project = "" }: Report): string {
  const items = sections.flatMap((section) => section.items);
  const rules = new Map(items.map(({ id, title }) => [id, { id, shortDescription: { text: title } }]));
  const log = {
    $schema: "https://json.schemastore.org/sarif-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: { driver: { name: "Routewright", rules: [...rules.values()] } },
        originalUriBaseIds: { ROOT: { description: { text: "The root of the repository." } } },
        results: items.map((item) => resultOf(item, item.file === null ? null : project + item.file)),
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

/** Labels of items that their owner has accepted. */
const SUPPRESSED: ReadonlySet<string> = new Set(["accepted", "suppressed"]);

function resultOf(item: Item, file: string | null) {
  const { level, label, id, title, endpoints, difference, details } = item;
  const lines = [
    `${title}: ${endpoints.map(oneLine).join(", ")}`,
    ...(difference === null ? [] : [sentenceText(difference, oneLine)]),
    ...details.map(plainText),
  ];
  return {
    ruleId: id,
    level: LEVELS[level],
    message: { text: lines.join("\n") },
    locations: file === null ? [] : [locationOf(file)],
    // By default GitHub compares the lines of files: all findings of one rule in one model would be one alert.
    partialFingerprints: { primaryLocationLineHash: fingerprintOf(item) },
    ...(SUPPRESSED.has(label) && { suppressions: [{ kind: "external" }] }),
  };
}

/** GitHub shows no result without a line. */
function locationOf(file: string) {
  // `encodeURI` throws for half a surrogate pair; a buffer replaces it.
  const uri = encodeURI(Buffer.from(file).toString());
  return {
    physicalLocation: { artifactLocation: { uri, uriBaseId: "ROOT" }, region: { startLine: 1 } },
  };
}

function fingerprintOf({ id, endpoints, difference, location }: Item): string {
  const identity = [id, endpoints, location, difference === null ? null : plainText(difference)];
  return createHash("sha256").update(JSON.stringify(identity)).digest("hex").slice(0, 32);
}
