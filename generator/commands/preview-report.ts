import type { Catalogue } from "../catalogue/catalogue.js";
import { visible } from "../manifest/strings.js";
import type { Publishing } from "../manifest/publishing.js";
import { skippedLines, skippedSummary } from "./generate-report.js";
import { counted } from "../report/report.js";

/** What a manifest publishes, before anything is written. */
export interface Preview {
  readonly catalogue: Catalogue;
  readonly publishing: Publishing;
}

interface PreviewRow {
  readonly path: string;
  readonly tier: string;
  readonly model: string;
  /** What publishes it: its tags, or a rule of the config file. */
  readonly by: string;
  readonly isDescribed: boolean;
}

function rowsOf({ catalogue, publishing: { rules } }: Preview): readonly PreviewRow[] {
  return catalogue.entries.map(({ path, tier, model, uniqueId, description }) => ({
    ...{ path, tier, model },
    by: rules.get(uniqueId) ?? "tags",
    isDescribed: description.trim() !== "",
  }));
}

/** A table of paths and tiers, then what is skipped and left out, with reasons. */
export function previewText(preview: Preview): string {
  const { catalogue, publishing } = preview;
  const rows = rowsOf(preview);
  const lines = [
    ...tableOf(rows),
    ...catalogue.skipped.flatMap(skippedLines),
    ...[...publishing.left].map(([model, reason]) => `left out ${model}: ${reason}`),
    previewSummary(preview, rows),
  ];
  return `${lines.map(visible).join("\n")}\n`;
}

const HEADER = { path: "path", tier: "tier", model: "model", by: "by", isDescribed: true };

function tableOf(rows: readonly PreviewRow[]): readonly string[] {
  if (rows.length === 0) return [];
  const all = [HEADER, ...rows];
  const widthOf = (key: "path" | "tier" | "model"): number => Math.max(...all.map((row) => row[key].length));
  const [path, tier, model] = [widthOf("path"), widthOf("tier"), widthOf("model")];
  return all.map((row) => {
    const note = row.isDescribed ? "" : "   no description";
    return `${row.path.padEnd(path)}  ${row.tier.padEnd(tier)}  ${row.model.padEnd(model)}  ${row.by}${note}`;
  });
}

function previewSummary({ catalogue, publishing }: Preview, rows: readonly PreviewRow[]): string {
  const named = rows.filter(({ by }) => by !== "tags").length;
  return [
    `${counted(rows.length, "endpoint")}, ${String(named)} by \`publish\``,
    skippedSummary(catalogue.skipped),
    `${String(publishing.left.size)} left out`,
  ].join("; ");
}

/** The same for programs. */
export function previewJson(preview: Preview): string {
  const left = [...preview.publishing.left].map(([model, reason]) => ({ model, reason }));
  return `${JSON.stringify({ endpoints: rowsOf(preview), skipped: preview.catalogue.skipped, left }, null, 2)}\n`;
}
