import { type Aggregate, isTier, type Tier, TIERS } from "@routewright/runtime/model";
import { isPublished } from "../../manifest/publishing.js";
import { showsOnlyHash } from "../../manifest/graph.js";
import { isObject, textOr } from "../../manifest/json.js";
import { type Mark, requiredTier, routewrightOf } from "../../manifest/node-meta.js";
import { chain, sentence } from "../../manifest/strings.js";
import { type Check, type CheckId, type LintedEndpoint, type LintViolation, violation } from "../checks.js";
import { ancestorsOf, type Node, type NodeColumn, type DbtGraph } from "../dbt-graph.js";

/** Rules about who can read what. */
export const exposureRules = {
  /** An endpoint that serves data marked as private below the tier that the mark requires. */
  "private-data": (linted, { project }) => {
    const { node, ancestors, endpoint } = linted;
    if (endpoint.aggregate?.of === "metrics") return privateMetrics(linted, endpoint.aggregate, project);
    const self = { node, lineage: [node.name] };
    const all = [self, ...ancestors];
    const inModels = all.flatMap((source) => source.node.marks.map((mark) => ({ ...source, mark })));
    const names = privateColumnNames(all.map((source) => source.node));
    const byColumn = names
      .filter((column) => isServed(column, linted))
      .map((column) => {
        const carriers = showsOnlyHash(node, column)
          ? []
          : ancestorsOf(
              node,
              project,
              (child) => !showsOnlyHash(child, column),
              (parent) => carries(parent, column),
            );
        return [self, ...carriers].flatMap((source) => {
          const { marks = [] } = columnOf(source.node, column) ?? {};
          return marks.map((mark) => ({ ...source, mark }));
        });
      });
    // One finding for the model and one for each column, whatever the number of nodes above that mark it.
    const sources = [inModels, ...byColumn].flatMap((found) => strictest(found, linted));
    const shown = [
      ...new Map(sources.map((source) => [source.mark.path + source.node.uniqueId, source])).values(),
    ].map((source) => privateDataViolation(linted, source));
    const withheld = linted.warnings
      .filter(({ isWithheldFilter }) => isWithheldFilter)
      .map(({ path, message, hint }) => ({ path, message: sentence`${message}`, hint: sentence`${hint}` }));
    return [...shown.flat(), ...withheld];
  },
  /** An endpoint over a model that is tagged with a higher tier. */
  "higher-tier-data": ({ endpoint, ancestors }, { defaultTier }) =>
    ancestors.flatMap(({ node, lineage }) => {
      const tier = tierOf(node, defaultTier);
      if (tier === null || TIERS.indexOf(tier) <= TIERS.indexOf(endpoint.tier)) return [];
      return violation(
        "$.tags",
        sentence`Callers of ${endpoint.tier} get data of ${node.name}, which is tagged ${tier}: ${chain(lineage)}. Lower-tier callers can read data of a higher tier.`,
        sentence`Tag this model ${tier}, or build it from data of its own tier. If it exposes nothing, as sums and counts may, turn the rule off with that reason.`,
      );
    }),
  /** An endpoint without `rows` over a node that has it. */
  "unfiltered-rows": ({ endpoint, ancestors }) => {
    if (endpoint.rows !== undefined) return [];
    const source = ancestors.find(({ node }) => isObject(routewrightOf(node.json)["rows"]));
    if (source === undefined) return [];
    return violation(
      "$.config.meta",
      sentence`The model reads ${chain(source.lineage)}, whose rows belong to organizations: every caller gets those of all.`,
      "Set `meta.routewright.rows` here too. Where no row tells of an organization, suppress the rule with the reason.",
    );
  },
  /** An endpoint with the default tier. */
  "missing-tier-tag": ({ node, endpoint }) => {
    if (node.tags.some(isTier)) return [];
    return violation(
      "$.tags",
      sentence`No tag names a tier, so the endpoint has the default, ${endpoint.tier}.`,
      sentence`Tag the model with one of ${{ names: TIERS, separator: ", " }}; \`tier0\` opens it to everybody on purpose.`,
    );
  },
  /** A published model with `access: private`, which dbt keeps within its group. */
  "private-access": ({ node }) => {
    if (textOr(node.config["access"], node.access) !== "private") return [];
    return violation(
      "$.config.access",
      "The model has `access: private`, so no model outside its group may use it, but it has an endpoint.",
      "Give it `access: protected` or `public`, or remove its `production` or `api:` tag.",
    );
  },
} satisfies Partial<Record<CheckId, Check>>;

/** Metrics of the endpoint that are marked, or take in one that is; of a saved query its own mark, too. */
function privateMetrics(
  linted: LintedEndpoint,
  { measures }: Pick<Aggregate, "measures">,
  project: DbtGraph,
): readonly LintViolation[] {
  const metrics = measures.flatMap(({ name }) => project.metrics.get(name) ?? []);
  const sources = [...metrics, linted.node].flatMap((node) => {
    const all = [{ node, lineage: [node.name] }, ...ancestorsOf(node, project)];
    return strictest(
      all.flatMap((source) => source.node.marks.map((mark) => ({ ...source, mark }))),
      linted,
    );
  });
  const found = new Map(sources.map((source) => [source.mark.path + source.node.uniqueId, source]));
  return [...found.values()].map((source) => {
    const { message } = privateDataViolation(linted, source);
    const tier = requiredTier(source.mark);
    return {
      path: source.node === linted.node ? source.mark.path : "$",
      message,
      hint: sentence`Tag it ${tier}, or take its api: tag away.`,
    };
  });
}

/** The nearest of the strictest marks above the endpoint's tier. */
function strictest(sources: readonly MarkedSource[], { endpoint }: LintedEndpoint): readonly MarkedSource[] {
  const rank = ({ mark }: MarkedSource): number => TIERS.indexOf(requiredTier(mark));
  const [first] = sources
    .filter((source) => rank(source) > TIERS.indexOf(endpoint.tier))
    .toSorted((one, other) => rank(other) - rank(one));
  return first === undefined ? [] : [first];
}

interface MarkedSource {
  readonly node: Node;
  readonly lineage: readonly string[];
  readonly mark: Mark;
}

function privateColumnNames(nodes: readonly Node[]): readonly string[] {
  const columns = nodes.flatMap((node) => [...node.columns.values()]);
  const marked = columns.filter(({ marks }) => marks.length > 0);
  return [...new Set(marked.map(({ name }) => name.toLowerCase()))];
}

/** An endpoint serves the columns that its model declares, and all of the relation where it declares none. */
function isServed(column: string, { endpoint, node }: LintedEndpoint): boolean {
  const { columns } = endpoint;
  return columns.length === 0
    ? carries(node, column)
    : columns.some(({ name }) => name.toLowerCase() === column);
}

function columnOf({ columns }: Node, column: string): NodeColumn | undefined {
  return columns.get(column) ?? [...columns.values()].find(({ name }) => name.toLowerCase() === column);
}

/**
 * Whether a node passes a column on, by its name. What a model declares may be a part of its columns, so its SQL counts
 * too: it names the column, or selects `*`. Without SQL, a model that declares nothing may have any column.
 */
function carries(node: Node, column: string): boolean {
  if (columnOf(node, column) !== undefined) return true;
  if (node.code.length === 0) return node.columns.size === 0;
  return node.code.some(
    (code) => /\bselect\s+(?:distinct\s+)?\*|\.\*|,\s*\*|\bstar\s*\(/i.test(code) || wordIn(code, column),
  );
}

function wordIn(code: string, word: string): boolean {
  return new Set<string>(code.toLowerCase().match(/[\p{L}_][\p{L}\p{N}_$]*/gu)).has(word);
}

function privateDataViolation(
  { endpoint, node }: LintedEndpoint,
  { node: marked, lineage, mark }: MarkedSource,
): LintViolation {
  const tier = requiredTier(mark);
  return {
    path: marked === node ? mark.path : "$.depends_on.nodes",
    message: sentence`Callers of ${endpoint.tier} get data that ${marked.name} restricts to ${tier} and above in ${mark.path}: ${chain(lineage)}.`,
    hint: sentence`Tag this model ${tier}, or declare only columns that are not private and leave the others out of its SQL.`,
  };
}

/** The tier of a node by its tags; an API model without a tier tag has the default. */
function tierOf({ kind, tags }: Node, defaultTier: Tier): Tier | null {
  if (kind !== "model") return null;
  const [strictest] = TIERS.toReversed().filter((tier) => tags.includes(tier));
  return strictest ?? (isPublished(tags) ? defaultTier : null);
}
