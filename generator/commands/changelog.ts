import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  atomOf,
  type Changelog,
  CHANGELOG_FILE,
  type ChangelogEntry,
  changeText,
  type ConsumerChange,
  NO_CHANGELOG,
  parseChangelog,
} from "@routewright/runtime/model";
import { Option } from "commander";
import type { Settings } from "../config.js";
import { type Change } from "../diff/change.js";
import { type ChangeKind, KINDS } from "../diff/change-kinds.js";
import { compareCatalogues } from "../diff/compare-catalogues.js";
import { readRevision } from "../diff/revision.js";
import { visible } from "../manifest/strings.js";
import { writeFiles } from "../output/replace-file.js";
import { codeSpan, oneLine } from "../report/report.js";
import { type CliCommand, type CommandResult, EXIT, failure, OPTIONS, withSettings } from "./command.js";

const FORMATS = ["markdown", "atom", "json"] as const;

interface Flags {
  readonly format: (typeof FORMATS)[number];
  readonly generated?: string;
  readonly catalog?: string;
}

export function configure(command: CliCommand): void {
  command
    .argument("<base>", "a generated folder, a manifest (file or URL), or git:<ref>")
    .argument("[head]", "the same (default: the generated folder)")
    .addOption(new Option("--format <format>", "what is printed").choices(FORMATS).default("markdown"))
    .addOption(OPTIONS.catalog())
    .addOption(OPTIONS.generated())
    .runs((base: string, head: string | undefined, flags: Flags) =>
      withSettings(flags, (settings) =>
        changelog(base, head ?? settings.out, flags, { ...settings, today: new Date() }),
      ),
    )
    .helpEnd(["changelog git:v1.4.0", "changelog git:origin/main generated --format atom > feed.xml"]);
}

/** `routewright changelog`: adds what changed for consumers to `changelog.json` of the generated folder, and prints it. */
async function changelog(
  base: string,
  head: string,
  { format }: Flags,
  settings: Settings & { readonly today: Date },
): Promise<CommandResult> {
  const { out, severities, minimumNoticeDays, apiTitle } = settings;
  if (!existsSync(out)) return failure(noFolder(out));
  const options = { ...settings, generated: out, cwd: process.cwd() };
  const [from, to] = [await readRevision(base, options), await readRevision(head, options)];
  if (!from.ok) return failure(...from.problems);
  if (!to.ok) return failure(...to.problems);
  const file = join(out, CHANGELOG_FILE);
  const known = readKnown(file);
  if (known === null) return failure(`${file} is damaged: restore it from git; nothing was written.`);
  const date = settings.today.toISOString().slice(0, 10);
  const changes = compareCatalogues(
    from.value.catalogue,
    to.value.catalogue,
    { today: date, minimumNoticeDays },
    severities,
  );
  const next = withChanges(known, date, changes.flatMap(forConsumers));
  const writing = writeFiles(next === known ? [] : [{ file, text: changelogText(next) }]);
  if (!writing.ok) return failure(...writing.problems);
  return { exit: EXIT.ok, output: RENDERERS[format](next, apiTitle ?? "Data API") };
}

function noFolder(out: string): string {
  return `There is no generated folder ${out} to keep ${CHANGELOG_FILE} in: run \`routewright generate\`, or name the folder with --generated.`;
}

function readKnown(file: string): Changelog | null {
  return existsSync(file) ? parseChangelog(readFileSync(file, "utf8")) : NO_CHANGELOG;
}

/** Adds the changes of a day in front; those that the day already has are not repeated. The same changelog where none is new. */
function withChanges(known: Changelog, date: string, changes: readonly ConsumerChange[]): Changelog {
  const [newest, ...older] = known.entries;
  const today = newest?.date === date ? newest : null;
  const seen = new Set(today?.changes.map((change) => JSON.stringify(change)));
  const fresh = changes.filter((change) => !seen.has(JSON.stringify(change)));
  if (fresh.length === 0) return known;
  const entry: ChangelogEntry = { date, changes: [...(today?.changes ?? []), ...fresh] };
  return { entries: [entry, ...(today === null ? known.entries : older)] };
}

/** What concerns the project alone, or names its models and relations: consumers are not told. */
const INTERNAL: ReadonlySet<ChangeKind> = new Set<ChangeKind>([
  "owner-changed",
  "relation-changed",
  "model-changed",
  "rows-exchanged",
  "rows-exposed",
  "private-endpoint-added",
  "own-rows-changed",
  "private-mark-removed",
  "roll-up-added",
  "roll-up-removed",
]);

/** Kinds whose values name a model, a column or SQL that no document names. */
const WITHOUT_VALUES: ReadonlySet<ChangeKind> = new Set<ChangeKind>([
  "reference-added",
  "reference-changed",
  "own-rows-added",
  "own-rows-removed",
  "meaning-changed",
]);

/** What opens data is an addition to consumers. */
const SHOWN_AS: Readonly<Partial<Record<ChangeKind, ChangeKind>>> = {
  "column-exposed": "column-added",
  "group-exposed": "group-added",
  "measure-exposed": "measure-added",
  "filter-exposed": "filter-added",
};

/** A change in the words of consumers: what opens data to them is no fault to them. */
function forConsumers({
  kind,
  endpoint,
  tier,
  severity,
  subject,
  before,
  after,
}: Change): readonly ConsumerChange[] {
  if (INTERNAL.has(kind)) return [];
  const shown = SHOWN_AS[kind] ?? kind;
  const values = WITHOUT_VALUES.has(kind) ? { before: null, after: null } : { before, after };
  return [
    {
      endpoint,
      tier,
      kind: shown,
      title: KINDS[shown].title,
      severity: severity === "exposing" ? "compatible" : severity,
      subject,
      ...values,
    },
  ];
}

/** A line per change, so that a review shows what is new. */
function changelogText({ entries }: Changelog): string {
  const days = entries.map(({ date, changes }) => {
    const lines = changes.map((change) => `        ${visible(JSON.stringify(change))}`);
    return `    {\n      "date": ${JSON.stringify(date)},\n      "changes": [\n${lines.join(",\n")}\n      ]\n    }`;
  });
  return `{\n  "entries": [\n${days.join(",\n")}\n  ]\n}\n`;
}

const RENDERERS: Readonly<Record<(typeof FORMATS)[number], (changelog: Changelog, title: string) => string>> =
  {
    markdown: ({ entries }, title) =>
      [`# ${oneLine(title)}: changes`, ...entries.map(markdownDay)].join("\n\n").concat("\n"),
    atom: (changelog, title) => atomOf(changelog, title, null),
    json: changelogText,
  };

function markdownDay({ date, changes }: ChangelogEntry): string {
  const lines = changes.map(
    (change) => `- **${change.severity}** ${codeSpan(change.endpoint)}: ${markdownText(change)}`,
  );
  return [`## ${date}`, lines.join("\n")].join("\n\n");
}

function markdownText(change: ConsumerChange): string {
  const { title } = change;
  const rest = changeText(change).slice(title.length + 2);
  return rest === "" ? title : `${title}: ${codeSpan(rest)}`;
}
