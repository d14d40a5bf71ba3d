/** What the generator shares with the runtime: the endpoint, the tiers, the errors. Light on purpose: it pulls in no library. */
export { allows, allowsPath, TIERS, TIER_NAMES, isTier, type Tier } from "./core/model/tier.js";
export * from "./core/model/aggregate/aggregate.js";
export * from "./core/model/aggregate/grains.js";
export * from "./core/model/aggregate/group-options.js";
export * from "./core/model/aggregate/metric.js";
export { projectSqlProblem, tokensOf } from "./core/model/project-sql.js";
export * from "./core/model/endpoint.js";
export * from "./core/model/column-operators.js";
export * from "./core/model/filter-text.js";
export { columnNamed } from "./core/model/column-names.js";
export { type MissingColumn, missingColumns, relationsOf } from "./core/model/missing-columns.js";
export * from "./core/model/column-types.js";
export * from "./core/model/database-types.js";
export * from "./core/model/limits.js";
export * from "./core/model/operators.js";
export * from "./core/model/schema.js";
export { FORMAT_SUFFIXES, isDate, withDigest } from "./core/model/query.js";
export {
  failed,
  type Failure,
  messageOf,
  type Outcome,
  succeeded,
  unlessFailed,
} from "./core/model/outcome.js";
export { ERRORS, type ErrorCode, isHttpError } from "./core/model/errors.js";
export {
  figuresOf,
  type OrganizationPlan,
  OWN_FIGURES,
  type OwnFigures,
  type Plans,
  PLANS_SCHEMA,
  type Quota,
  QUOTA_UNITS,
} from "./core/model/organization-plan.js";
export { RATE_LIMITS, RATE_WINDOW_SECONDS } from "./core/model/tier.js";
export {
  readGenerationEnvironment,
  type GenerationEnvironment,
} from "./core/environment/generation-environment.js";
export { type Freshness, freshnessText, type LastLoadSql } from "./core/model/freshness.js";
export {
  ABOUT_SCHEMA,
  type ApiAbout,
  HEADLINE_SCHEMA,
  SIGN_UP_SCHEMA,
  type SignUp,
} from "./core/model/about.js";
export * from "./core/model/store-address.js";
export { faintContrast } from "./core/model/accent.js";
export { endpointTitle } from "./core/model/endpoint-title.js";
export { fieldTextOf, MAX_TYPE_TEXT, type TypeText, typeTextOf, unquoted } from "./core/model/type-text.js";
export { groupedBy } from "./core/model/grouped.js";
export { ownValue } from "./core/model/own-value.js";
export { digestOf, hasOwnDigest, withOwnDigest } from "./core/model/digest.js";
export {
  adapterNotice,
  adapterProblem,
  type ClickhouseAddress,
  clickhouseAddress,
  clickhouseUrl,
} from "./core/model/clickhouse-address.js";
export {
  BuildRecords,
  type BuildsAtLoad,
  type FreshnessCheck,
  type NodeBuild,
  type RelationLoad,
  type TestRun,
} from "./core/warehouse/data-versions.js";
export { qualityOf } from "./core/warehouse/data-quality.js";
export { type DescribedRoute, SYSTEM_ROUTES } from "./core/handler/system-routes.js";
export { SYSTEM_SCHEMAS } from "./core/handler/system-schemas.js";
export * from "./core/http/openapi.js";
export {
  atomOf,
  type Changelog,
  CHANGELOG_FILE,
  type ChangelogEntry,
  changeText,
  type ConsumerChange,
  NO_CHANGELOG,
  parseChangelog,
} from "./core/model/changelog.js";
export { signalAfter, sleep, Timer } from "./core/model/timer.js";
