import type { MissingBase } from "./command.js";
import { type Outcome, succeeded } from "@routewright/runtime/model";
import { catalogueOf } from "../catalogue/build.js";
import type { Catalogue } from "../catalogue/catalogue.js";
import { DEFAULTS } from "../config.js";
import type { Change } from "../diff/change.js";
import { compareCatalogues } from "../diff/compare-catalogues.js";
import { readRevision, type RevisionOptions } from "../diff/revision.js";
import { type ModelFinding, type RuleSeverities, ruleSeverity, violation } from "../lint/checks.js";
import type { Manifest } from "../manifest/manifest.js";
import { sentence } from "../manifest/strings.js";

/** How a base is read: as the head, and as `diff` reads it. */
type BaseOptions = Pick<RevisionOptions, "defaultTier"> &
  Partial<RevisionOptions> & {
    readonly missingBase?: MissingBase;
    readonly severities?: RuleSeverities;
  };

export interface BaseFindings {
  readonly has: (finding: ModelFinding) => boolean;
  /** Marks of private data that the base has and the head has not. */
  readonly lostMarks: readonly ModelFinding[];
  readonly warnings: readonly string[];
}

/**
 * Which findings the base has too: those at endpoints without a change since, of models that were skipped for the same
 * problem, and forgotten tags unless the model had an endpoint.
 */
export async function knownIn(
  base: string,
  head: Manifest,
  options: BaseOptions,
): Promise<Outcome<BaseFindings>> {
  const { defaultTier, schemas = {}, engine, publicMaxAge = 0 } = options;
  const revision = await readRevision(base, { generated: DEFAULTS.out, cwd: process.cwd(), ...options });
  if (!revision.ok)
    return revision.isMissing && options.missingBase === "ignore"
      ? succeeded({
          has: () => true,
          lostMarks: [],
          warnings: [`${revision.problems.join(" ")} Every finding counts as known.`],
        })
      : revision;
  const { entries, skipped } = revision.value.catalogue;
  const sunsetPolicy = { today: "1970-01-01", minimumNoticeDays: DEFAULTS.minimumNoticeDays };
  const headCatalogue = catalogueOf(head, { defaultTier, schemas, engine, publicMaxAge });
  const changes = compareCatalogues(revision.value.catalogue, headCatalogue, sunsetPolicy);
  const changed = new Set(changes.flatMap(({ endpoint, after }) => [endpoint, after]));
  const models = new Set(entries.map(({ uniqueId }) => uniqueId));
  const problems = skipped.flatMap((one) => one.problems);
  const known = new Set(problems.map((problem) => identityOf({ rule: "skipped-model", ...problem })));
  return succeeded({
    has: (finding: ModelFinding) => {
      if (finding.rule === "forgotten-tag") return !models.has(finding.model);
      return finding.endpoint === null ? known.has(identityOf(finding)) : !changed.has(finding.endpoint);
    },
    lostMarks: lostMarkFindings(changes, headCatalogue, options.severities),
    warnings: [],
  });
}

/** What makes two findings of two runs the same: a message may count something that has grown. */
function identityOf({ rule, model, path }: Pick<ModelFinding, "rule" | "model" | "path">): string {
  return JSON.stringify([rule, model, path]);
}

const RULE = "private-mark-removed";

/** Findings of `lint --base`: marks of private data that the base has and the head has not, by what shows the data. */
function lostMarkFindings(
  changes: readonly Change[],
  { entries }: Catalogue,
  severities: RuleSeverities = {},
): readonly ModelFinding[] {
  const severity = ruleSeverity(RULE, severities);
  if (severity === null) return [];
  return changes
    .filter(({ kind }) => kind === RULE)
    .flatMap(({ endpoint, file, owner, subject, before }) => {
      const { uniqueId: model = "" } = entries.find(({ path }) => path === endpoint) ?? {};
      const place = { model, file, endpoint, ...(owner !== undefined && { owner }) };
      return violation(
        "$",
        sentence`${subject ?? ""} was private by a mark of ${before ?? ""}, which is gone.`,
        sentence`Mark it again; or, where it is not private, add \`private-mark-removed\` to the accept file of ${"routewright diff"} and turn this rule off for the run.`,
      ).map((found) => ({ rule: RULE, severity, ...place, ...found }));
    });
}
