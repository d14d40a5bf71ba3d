import { headlineProblems, planProblems } from "../about.js";
import { join } from "node:path";
import type { ArtifactLocations } from "../artifacts/artifacts.js";
import { catalogueOf } from "../catalogue/build.js";
import { readFormerCatalogue } from "../catalogue/catalogue-file.js";
import type { Catalogue, CatalogueEntry } from "../catalogue/catalogue.js";
import { unpublishedNotes, untypedNote, whyGone } from "../catalogue/unpublished.js";
import type { Settings } from "../config.js";
import { type Change } from "../diff/change.js";
import { compareCatalogues } from "../diff/compare-catalogues.js";
import { readModels } from "../manifest/catalog.js";
import { type Folder, updateFolder } from "../output/folder.js";
import { readKept } from "../output/keeping.js";
import { adapterNotice, adapterProblem, clickhouseAddress } from "@routewright/runtime/model";
import type { Manifest } from "../manifest/manifest.js";
import { CATALOGUE_FILE, type Kept } from "../render/kept.js";
import { type FileSet, renderBytes, routeFile } from "../render/render.js";
import { previewJson, previewText } from "./preview-report.js";
import { type GenerateReport, type MovedSchema, reportJson, reportText } from "./generate-report.js";
import {
  type CliCommand,
  type CommandResult,
  EXIT,
  failure,
  OPTIONS,
  versionOf,
  withManifest,
} from "./command.js";
import { withProgress } from "./progress.js";

export interface GenerateOptions
  extends
    ArtifactLocations,
    Pick<Settings, "out" | "defaultTier">,
    Partial<
      Pick<
        Settings,
        "about" | "schemas" | "engine" | "publicMaxAge" | "plans" | "publish" | "severities" | "variables"
      >
    > {
  /** Compare only: findings where the folder is not what the manifest renders to. */
  readonly check: boolean;
  /** A finding where a model is skipped with a problem or has an unknown key. */
  readonly strict: boolean;
  readonly json: boolean;
  /** Print paths, tiers and what is skipped; write nothing. */
  readonly preview?: boolean;
  /** Write a folder without endpoints although the present one has some. */
  readonly allowEmpty?: boolean;
  /** Title of the OpenAPI document; null for its own. */
  readonly title: string | null;
}

type Flags = Omit<GenerateOptions, "manifest" | "out" | "defaultTier" | "title"> &
  Partial<Pick<GenerateOptions, "manifest" | "out">>;

export function configure(command: CliCommand): void {
  command
    .addOption(OPTIONS.manifest())
    .addOption(OPTIONS.catalog())
    .addOption(OPTIONS.out())
    .option("--check", "write nothing; exit 1 when the folder is not up to date", false)
    .option("--strict", "exit 1 when a model is skipped with a problem or has an unknown key", false)
    .option("--preview", "print paths, tiers and what is skipped; write nothing", false)
    .option("--json", "report as JSON", false)
    .option("--allow-empty", "write even if the manifest publishes no endpoint any more", false)
    .runs((flags: Flags) =>
      withManifest(flags, (settings) => generate({ ...flags, ...settings, title: settings.apiTitle })),
    )
    .helpEnd(
      [
        "generate --manifest target/manifest.json",
        "generate --preview",
        "generate --check --strict   # in CI",
      ],
      {
        1: "--check and the folder is not up to date, or --strict and a model was skipped as invalid or has an unknown key",
      },
    );
}

/** `routewright generate`: the manifest rendered into the folder, or compared with it. */
export async function generate(options: GenerateOptions): Promise<CommandResult> {
  const reading = await readModels(options);
  if (!reading.ok) return failure(...reading.problems);
  const { title, about, out, check } = options;
  const folder = options.preview === true ? null : readKept(out, versionOf(), check);
  const catalogue = catalogueOf(reading.value, { ...options, known: folder?.kept });
  const unshown = [
    ...headlineProblems(options.about ?? {}, catalogue),
    ...planProblems(options.plans ?? {}, catalogue),
  ];
  if (unshown.length > 0) return failure(...unshown);
  if (folder === null) return preview(reading.value, catalogue, options);
  const { found, ...keeping } = folder;
  const files = await withProgress("Rendering endpoints", (progress) =>
    renderBytes(catalogue, { title, about, progress, ...keeping }),
  );
  const before = catalogueIn(out, found, files, catalogue.entries, keeping.kept);
  const unpublished = unpublishedNotes(reading.value, catalogue);
  const update = updateFolder(files, { ...options, found });
  if (!update.ok) return failure(...update.problems, ...(catalogue.entries.length === 0 ? unpublished : []));
  const report: GenerateReport = {
    ...options,
    catalogue,
    drift: update.value,
    schemas: movedSchemas(before, catalogue),
    causes: causesOf(before, catalogue, reading.value),
    exposing: exposingChanges(before, catalogue, options),
    warnings: [...reading.value.warnings, ...engineWarnings(catalogue, options)],
    notes: [...unpublished, ...untypedNote(catalogue, options.catalog !== undefined)],
  };
  const output = options.json ? reportJson(report) : reportText(report);
  const exit = hasFindings(options, report) ? EXIT.findings : EXIT.ok;
  return { exit, output, isStatus: !options.json };
}

function preview(manifest: Manifest, catalogue: Catalogue, { json }: GenerateOptions): CommandResult {
  const shown = { catalogue, publishing: manifest.publishing };
  return {
    exit: EXIT.ok,
    output: json ? previewJson(shown) : previewText(shown),
    notes: [
      ...manifest.warnings.map((warning) => `warning: ${warning}`),
      ...unpublishedNotes(manifest, catalogue).map((note) => `note: ${note}`),
    ],
  };
}

/** The catalogue of the folder; null where there is none, or the same. */
function catalogueIn(
  out: string,
  found: Folder | undefined,
  files: FileSet<Buffer>,
  entries: readonly CatalogueEntry[],
  kept: Kept | undefined,
): Catalogue | null {
  const [file, newer] = [found?.get(CATALOGUE_FILE), files.get(CATALOGUE_FILE)];
  if (file?.kind !== "file" || newer === undefined || file.bytes.equals(newer)) return null;
  if (kept !== undefined) return kept.catalogue;
  const text = newer.toString();
  const reading = readFormerCatalogue(file.bytes, { text, entries }, join(out, CATALOGUE_FILE));
  return reading.ok ? reading.value : null;
}

/** Schemas of relations of the folder that the manifest has in others: the sign of another target. */
function movedSchemas(before: Catalogue | null, head: Catalogue): readonly MovedSchema[] {
  const known = new Map(before?.entries.map(({ uniqueId, relation }) => [uniqueId, relation]));
  const moves = new Map<string, MovedSchema>();
  for (const { uniqueId, relation } of head.entries) {
    const [[from, name] = [], [to, sameName]] = [known.get(uniqueId), relation];
    if (from === undefined || from === to || name !== sameName) continue;
    const move = `${from} ${to}`;
    moves.set(move, { from, to, endpoints: (moves.get(move)?.endpoints ?? 0) + 1 });
  }
  return [...moves.values()];
}

/** Why each module of before is gone, by its file. */
function causesOf(
  before: Catalogue | null,
  head: Catalogue,
  manifest: Manifest,
): ReadonlyMap<string, string> {
  const kept = new Set(head.entries.map(({ path }) => path));
  const gone = (before?.entries ?? []).filter(({ path }) => !kept.has(path));
  return new Map(gone.map((entry) => [routeFile(entry), whyGone(entry, head, manifest)]));
}

/** What opens data to callers who could not read it, as `diff` rates it. */
function exposingChanges(
  before: Catalogue | null,
  head: Catalogue,
  { severities }: GenerateOptions,
): readonly Change[] {
  if (before === null) return [];
  // No date makes a change an exposing one.
  const policy = { today: "1970-01-01", minimumNoticeDays: 0 };
  return compareCatalogues(before, head, policy, severities).filter(
    ({ severity }) => severity === "exposing",
  );
}

/** A database that cannot serve these models, where the environment names one. */
function engineWarnings({ adapter }: Catalogue, { variables = {} }: GenerateOptions): readonly string[] {
  const notice = adapterNotice(adapter);
  if (notice !== null) return [notice];
  const addresses = [variables["CLICKHOUSE_URL"], variables["DATABASE_URL"]].filter(
    (text): text is string => (text?.trim() ?? "") !== "",
  );
  if (addresses.length === 0) return [];
  const problem = adapterProblem(
    adapter,
    addresses.some((text) => clickhouseAddress(text) !== null),
  );
  return problem === null ? [] : [problem];
}

function hasFindings({ check, strict }: GenerateOptions, { catalogue, drift }: GenerateReport): boolean {
  const { skipped, warnings } = catalogue;
  const isAsMeant =
    skipped.every(({ reason }) => reason === "excluded") &&
    !warnings.some(({ isUnknownKey, isUnusedRollUp }) => isUnknownKey ?? isUnusedRollUp);
  return (check && drift.length > 0) || (strict && !isAsMeant);
}
