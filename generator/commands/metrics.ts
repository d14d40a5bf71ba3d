import { type AggregateMeasure, groupNames } from "@routewright/runtime/model";
import { catalogueOf } from "../catalogue/build.js";
import type { Catalogue, CatalogueEntry } from "../catalogue/catalogue.js";
import { FormulaTexts } from "../catalogue/metrics/formula-text.js";
import { isPublished } from "../manifest/publishing.js";
import type { Settings } from "../config.js";
import { readModels } from "../manifest/catalog.js";
import type { Manifest } from "../manifest/manifest.js";
import { visible } from "../manifest/strings.js";
import { type CliCommand, type CommandResult, EXIT, failure, OPTIONS, withManifest } from "./command.js";

interface Flags {
  readonly manifest?: string;
  readonly json?: boolean;
}

export function configure(command: CliCommand): void {
  command
    .addOption(OPTIONS.manifest())
    .option("--json", "print JSON")
    .runs((flags: Flags) => withManifest(flags, (settings) => metrics(flags, settings)))
    .helpEnd(["metrics", "metrics --manifest target/manifest.json --json"]);
}

/** A metric, a saved query, or a measure of a model, and what became of it. */
interface Listed {
  readonly name: string;
  readonly kind: "metric" | "saved query" | "measure";
  readonly state: "served" | "skipped" | "not tagged";
  readonly path: string | null;
  readonly tier: string | null;
  /** What `group_by` may name; of a saved query, what it fixes. */
  readonly groups: readonly string[];
  readonly formula: string | null;
  /** Why it is skipped. */
  readonly reasons: readonly string[];
}

/** `routewright metrics`: what a manifest offers by group, what is served, and what is skipped and why. */
async function metrics(
  { json = false }: Flags,
  settings: Settings & { readonly manifest: string },
): Promise<CommandResult> {
  const reading = await readModels(settings);
  if (!reading.ok) return failure(...reading.problems);
  const listed = listOf(reading.value, catalogueOf(reading.value, settings));
  const output = json ? `${JSON.stringify({ version: 1, metrics: listed }, null, 2)}\n` : textOf(listed);
  return { exit: EXIT.ok, output };
}

function listOf({ semantics }: Manifest, catalogue: Catalogue): readonly Listed[] {
  const ofModels = catalogue.entries
    .filter(({ aggregate }) => aggregate?.of === "measures")
    .flatMap((entry) => (entry.aggregate?.measures ?? []).map((each) => served(entry, each, "measure")));
  const ofMetrics = semantics.metrics.map(({ name, node }) => {
    const entry = catalogue.entries.find(
      ({ aggregate, category }) =>
        aggregate?.of === "metrics" &&
        aggregate.saved === undefined &&
        node.tags.includes(category) &&
        aggregate.measures.some((measure) => measure.name === name),
    );
    const measure = entry?.aggregate?.measures.find((each) => each.name === name);
    return entry !== undefined && measure !== undefined && isPublished(node.tags)
      ? served(entry, measure, "metric")
      : left(name, "metric", node, catalogue);
  });
  const ofQueries = semantics.queries.map(({ name, node }) => {
    const entry = catalogue.entries.find(({ uniqueId }) => uniqueId === node.uniqueId);
    return entry === undefined ? left(name, "saved query", node, catalogue) : savedOf(name, entry);
  });
  return [...ofModels, ...ofMetrics, ...ofQueries];
}

function served(entry: CatalogueEntry, measure: AggregateMeasure, kind: Listed["kind"]): Listed {
  const { path, tier, aggregate } = entry;
  return {
    name: measure.name,
    kind,
    state: "served",
    path,
    tier,
    groups: groupNames(measure.groups),
    formula: aggregate === undefined ? null : new FormulaTexts(aggregate).measure(measure),
    reasons: [],
  };
}

function savedOf(name: string, { path, tier, aggregate }: CatalogueEntry): Listed {
  const { saved, measures = [] } = aggregate ?? {};
  const fixed =
    aggregate === undefined || saved === undefined ? null : new FormulaTexts(aggregate).saved(saved);
  const formula = fixed === null ? null : `${measures.map((each) => each.name).join(", ")}; ${fixed}`;
  const groups = (saved?.groups ?? []).map(({ key }) => key);
  return { name, kind: "saved query", state: "served", path, tier, groups, formula, reasons: [] };
}

function left(
  name: string,
  kind: Listed["kind"],
  { uniqueId, tags }: { readonly uniqueId: string; readonly tags: readonly string[] },
  { skipped }: Catalogue,
): Listed {
  const problems = skipped.filter(({ model }) => model === uniqueId).flatMap((each) => each.problems);
  const isLeft = problems.length > 0 || isPublished(tags);
  const state = isLeft ? "skipped" : "not tagged";
  const reasons = problems.map(({ message }) => message);
  return { name, kind, state, path: null, tier: null, groups: [], formula: null, reasons };
}

function textOf(listed: readonly Listed[]): string {
  if (listed.length === 0) return "The manifest has no metrics, saved queries or aggregates.\n";
  const count = (state: Listed["state"]): number => listed.filter((each) => each.state === state).length;
  const lines = listed.filter(({ state }) => state !== "not tagged").flatMap(linesOf);
  const untagged = listed.filter(({ state }) => state === "not tagged").map(({ name }) => name);
  const more = untagged.length === 0 ? [] : [`not tagged  ${untagged.join(", ")}`];
  const summary = `${String(count("served"))} served, ${String(count("skipped"))} skipped, ${String(count("not tagged"))} without the tags \`production\` and \`api:<resource>\``;
  return [...lines, ...more, summary].map((line) => `${visible(line)}\n`).join("");
}

function linesOf({ name, kind, state, path, tier, groups, formula, reasons }: Listed): readonly string[] {
  if (state === "skipped")
    return [`skipped     ${kind} ${name}`, ...reasons.map((reason) => `              ${reason}`)];
  return [
    `served      ${kind} ${name}  ${path ?? ""}  (${tier ?? ""})`,
    `              ${formula ?? ""}`,
    ...(groups.length === 0 ? [] : [`              by ${groups.join(", ")}`]),
  ];
}
