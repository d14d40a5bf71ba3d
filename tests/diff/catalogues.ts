import type { Catalogue } from "../../generator/catalogue/catalogue.js";
import type { CommandResult } from "../../generator/commands/command.js";
import { diff, type DiffOptions } from "../../generator/commands/diff.js";
import type { Change } from "../../generator/diff/change.js";
import { compareCatalogues } from "../../generator/diff/compare-catalogues.js";
import { catalogueOfText } from "../catalogue/catalogues.js";
import { manifestOf, type TestModel } from "../support/manifest.js";

/** The day on which tests compare. */
export const TODAY = "2030-01-31";
export const CALENDAR = { today: TODAY, minimumNoticeDays: 30 };

/** The catalogue of a manifest's JSON. */
export function catalogueFrom(json: unknown): Catalogue {
  return catalogueOfText(JSON.stringify(json));
}

/** `routewright diff` as the command line runs it without flags. */
export function diffOf(
  options: Partial<DiffOptions> & Pick<DiffOptions, "base" | "head">,
): Promise<CommandResult> {
  const rest = { generated: "generated", cwd: process.cwd(), defaultTier: "tier0", today: TODAY } as const;
  return diff({ format: "text", failOn: "breaking", ...rest, ...options });
}

export function changesBetween(base: unknown, head: unknown): readonly Change[] {
  return compareCatalogues(catalogueFrom(base), catalogueFrom(head), CALENDAR);
}

/** `<kind> <subject>` of every change between two lists of models, in order. */
export function kindsBetween(
  base: readonly TestModel[],
  head: readonly TestModel[],
  adapter = "postgres",
): string[] {
  const [was, is] = [base, head].map((models) => manifestOf(models, { adapter_type: adapter }));
  return changesBetween(was, is).map(({ kind, subject }) => (subject === null ? kind : `${kind} ${subject}`));
}

/** One published model with what a test says of it. */
export function modelWith(model: Partial<TestModel> = {}): TestModel {
  return { name: "api_volume", tags: ["production", "bridges", "api:volume"], ...model };
}
