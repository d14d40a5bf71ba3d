import { list, sentence } from "../../manifest/strings.js";
import { type Check, type CheckId, type LintedEndpoint, violation } from "../checks.js";

/** Rules about what the database reads for a request. */
export const indexRules = {
  /** Columns that the parameter `filter` opens, with which no index that the model declares begins. */
  "unindexed-expression": (linted, { project }) => {
    const { endpoint, node, apiPath } = linted;
    const { filter, filters = [], aggregate } = endpoint;
    if (filter !== true || aggregate?.of === "metrics" || !node.isBuilt) return [];
    const leading = project.adapter === "clickhouse" ? clickhouseKeys(linted) : postgresKeys(linted);
    const others = filters.map(({ column }) => column).filter((column) => !leading.has(column.toLowerCase()));
    if (others.length === 0) return [];
    return violation(
      apiPath,
      sentence`Expressions of \`filter\` compare ${list(others)}, with which no index of the model begins: one that compares nothing else reads the whole table.`,
      project.adapter === "clickhouse"
        ? "Put them first in `order_by`, or give them a projection or data-skipping index; `routewright verify` reads the plans."
        : "Add them to `config.indexes`; `routewright verify` reads the plans, and sees indexes that a hook makes.",
    );
  },
} satisfies Partial<Record<CheckId, Check>>;

const NAME = /[a-z_][\w$]*/i;

/** The first column of each index and key. */
function postgresKeys({ node, model: { constraints } }: LintedEndpoint): ReadonlySet<string> {
  const indexes: readonly unknown[] = listOf(node.config["indexes"]);
  const columns = indexes.map((index) => listOf((index as { columns?: unknown } | null)?.columns)[0]);
  const keys = constraints
    .filter(({ type }) => type === "primary_key" || type === "unique")
    .map(({ columns: [first] }) => first);
  return new Set([...columns, ...keys].flatMap((first) => NAME.exec(textOf(first))?.[0].toLowerCase() ?? []));
}

/** The first column of the sorting key, and what projections and data-skipping indexes name. */
function clickhouseKeys({ node: { config } }: LintedEndpoint): ReadonlySet<string> {
  const first = textOf(listOf(config["order_by"])[0]).split(",")[0] ?? "";
  const others = [...listOf(config["projections"]), ...listOf(config["indexes"])].map((each) =>
    JSON.stringify(each),
  );
  const names = [first, ...others].flatMap((text) => text.match(new RegExp(NAME, "gi")) ?? []);
  return new Set(names.map((name) => name.toLowerCase()));
}

const listOf = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value : value === undefined ? [] : [value];
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
