/** What the generator shares with the runtime: the endpoint, the tiers, the errors. Light on purpose: it pulls in no library. */
export { TIERS, TIER_NAMES, isListed, isTier, type Tier } from "./model/tier.js";
export * from "./model/aggregate.js";
export { projectSqlProblem, tokensOf } from "./model/project-sql.js";
export * from "./model/endpoint.js";
export * from "./model/column-filters.js";
export { columnNamed, type MissingColumn, missingColumns, relationsOf } from "./model/column-names.js";
export * from "./model/column-types.js";
export * from "./model/limits.js";
export * from "./model/operators.js";
export * from "./model/schema.js";
export { FORMAT_SUFFIXES, isDate } from "./model/query.js";
export { failed, type Failure, messageOf, type Outcome, succeeded, unlessFailed } from "./model/outcome.js";
export { ERRORS, type ErrorCode } from "./model/errors.js";
export { RATE_LIMITS, RATE_WINDOW_SECONDS } from "./model/tier.js";
export {
  readGenerationEnvironment,
  type GenerationEnvironment,
} from "./environment/generation-environment.js";
export { ABOUT_SCHEMA, type ApiAbout } from "./model/about.js";
export * from "./model/store-address.js";
export { faintContrast } from "./model/accent.js";
export { groupedBy } from "./model/grouped.js";
export { ownValue } from "./model/own-value.js";
export { digestOf, withOwnDigest } from "./model/digest.js";
export {
  adapterNotice,
  adapterProblem,
  type ClickhouseAddress,
  clickhouseAddress,
  clickhouseUrl,
} from "./model/clickhouse-address.js";
export {
  BuildRecords,
  type BuildsAtLoad,
  type NodeBuild,
  type RelationLoad,
  type TestRun,
} from "./warehouse/data-versions.js";
export { type DescribedRoute, SYSTEM_ROUTES } from "./handler/system-routes.js";
export { SYSTEM_SCHEMAS } from "./handler/system-schemas.js";
export * from "./http/openapi.js";
export {
  atomOf,
  type Changelog,
  CHANGELOG_FILE,
  type ChangelogEntry,
  changeText,
  type ConsumerChange,
  NO_CHANGELOG,
  parseChangelog,
} from "./model/changelog.js";
export { signalAfter, sleep, Timer } from "./model/timer.js";
