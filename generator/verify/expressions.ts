import {
  type ColumnFilter,
  expressionOperators,
  filterLiteral,
  filterName,
  isHttpError,
  messageOf,
  VALUES,
} from "@routewright/runtime/model";
import {
  DatabaseUnreachable,
  loadedFilter,
  loadFilter,
  Projection,
  reachedTimeLimit,
  type Warehouse,
} from "@routewright/runtime/server";
import type { CatalogueEntry } from "../catalogue/catalogue.js";
import { list, sentence } from "../manifest/strings.js";
import { type Mismatch, mismatchAt } from "./checks.js";

/** What runs and explains statements. */
export type ExplainingWarehouse = Pick<Warehouse, "usesIndex" | "rows">;

/** A statement that takes longer shows nothing. */
const TIMEOUT_MS = 5000;
/** Characters of a sample text. */
const MAX_TEXT = 100;

/** Not explained: no index helps operators that most rows pass, and other orders use the index of `ge`. */
const NOT_EXPLAINED: ReadonlySet<string> = new Set(["ne", "month", "day", "gt", "lt", "le"]);

/** Runs and explains an expression of each operator that the parameter `filter` has for each opened column. */
export async function verifyExpressions(
  entry: CatalogueEntry,
  warehouse: ExplainingWarehouse,
): Promise<readonly Mismatch[]> {
  if (entry.filter !== true || entry.aggregate?.of === "metrics") return [];
  await loadFilter();
  const differences: Mismatch[] = [];
  for (const filter of entry.filters ?? []) {
    const checked = new CheckedColumn(entry, filter, warehouse);
    const refused = await checked.refused();
    differences.push(...refused);
    if (refused.length === 0) differences.push(...unindexed(entry, await checked.unindexed()));
  }
  return differences;
}

/** Whether an index finds the rows that have a text in a column; true where the relation is small. */
export async function findsTexts(
  { relation }: CatalogueEntry,
  filter: ColumnFilter,
  warehouse: Pick<Warehouse, "usesIndex">,
): Promise<boolean> {
  await loadFilter();
  const conditions = conditionsOf(expressionOf(filter, "contains", "text") ?? "", filter);
  return (await warehouse.usesIndex(relation, conditions)) !== false;
}

function unindexed(entry: CatalogueEntry, expressions: readonly string[]): readonly Mismatch[] {
  if (expressions.length === 0) return [];
  const message = sentence`No index of ${entry.relation.join(".")} serves ${list(expressions)} in \`filter\`: a request with nothing else reads the whole relation.`;
  return mismatchAt(entry, "unindexed-expression", message, HINT);
}

const HINT =
  "PostgreSQL: a GIN index with `gin_trgm_ops` (extension pg_trgm) serves texts in texts; a B-tree with `text_pattern_ops` beginnings. " +
  "ClickHouse: a data-skipping index such as `ngrambf_v1` serves beginnings and ends. Where callers send it beside other conditions, accept it.";

/** A column that expressions compare, with a value that a row has. */
class CheckedColumn {
  readonly #entry: CatalogueEntry;
  readonly #filter: ColumnFilter;
  readonly #warehouse: ExplainingWarehouse;
  #sample: Promise<string | null> | null = null;

  constructor(entry: CatalogueEntry, filter: ColumnFilter, warehouse: ExplainingWarehouse) {
    this.#entry = entry;
    this.#filter = filter;
    this.#warehouse = warehouse;
  }

  /** Expressions that the database refuses. */
  async refused(): Promise<readonly Mismatch[]> {
    const value = await (this.#sample ??= this.#value(false));
    const known = value === null ? null : expressionOf(this.#filter, "eq", value);
    if (value === null || known === null) return [];
    const byProblem = new Map<string, string[]>();
    for (const operator of expressionOperators(this.#filter.type)) {
      const text = expressionOf(this.#filter, operator, value);
      // A row with the value ends the search.
      const refusal = text === null ? null : await this.#run(`${text} or ${known}`);
      if (refusal === null) continue;
      const problem = refusal.replaceAll(value, "…");
      byProblem.set(problem, [...(byProblem.get(problem) ?? []), shownExpression(this.#filter, operator)]);
    }
    return [...byProblem].flatMap(([problem, expressions]) => {
      const message = sentence`The database refuses ${list(expressions)} in \`filter\`: ${problem}.`;
      return mismatchAt(this.#entry, "refused-expression", message, REFUSED);
    });
  }

  /** Expressions that no index serves, of a column whose values an index finds: `unindexed-filter` says the rest. */
  async unindexed(): Promise<readonly string[]> {
    const value = await (this.#sample ??= this.#value(false));
    if (value === null || !(await this.#isServed("eq", value))) return [];
    const most = VALUES[this.#filter.type].ordered ? ((await this.#value(true)) ?? value) : value;
    const found: string[] = [];
    for (const operator of expressionOperators(this.#filter.type)) {
      if (NOT_EXPLAINED.has(operator) || (await this.#isServed(operator, most)) !== false) continue;
      found.push(shownExpression(this.#filter, operator));
    }
    return found;
  }

  /** Null where the relation is small, or the grammar has no such value. */
  async #isServed(operator: string, value: string): Promise<boolean | null> {
    const conditions = conditionsOf(expressionOf(this.#filter, operator, value) ?? "", this.#filter);
    if (conditions.length === 0) return null;
    return this.#warehouse.usesIndex(this.#entry.relation, conditions);
  }

  /** Why the database refuses an expression; null where it does not, or takes too long or is locked. */
  async #run(expression: string): Promise<string | null> {
    const conditions = conditionsOf(expression, this.#filter);
    try {
      if (conditions.length > 0) await this.#firstRow(conditions, false);
      return null;
    } catch (error) {
      if (error instanceof DatabaseUnreachable) throw error;
      return reachedTimeLimit(error) ? null : messageOf(error);
    }
  }

  /** A value of the column; the greatest one has few rows at or behind it. */
  async #value(isGreatest: boolean): Promise<string | null> {
    const { column } = this.#filter;
    const isSet = { name: column, column, operator: "null", type: "boolean", value: "false" } as const;
    try {
      const value = (await this.#firstRow([isSet], isGreatest))?.[column];
      return value === null || value === undefined ? null : sampleOf(this.#filter, value);
    } catch (error) {
      if (reachedTimeLimit(error)) return null;
      throw error;
    }
  }

  async #firstRow(
    conditions: ReturnType<typeof conditionsOf>,
    isGreatest: boolean,
  ): Promise<Readonly<Record<string, unknown>> | undefined> {
    const { column } = this.#filter;
    const declared = this.#entry.columns.find(({ name }) => name === column);
    const rows = await this.#warehouse.rows(
      {
        relation: this.#entry.relation,
        selection: {
          columns: new Projection([declared ?? { name: column, type: null }]),
          conditions,
          sort: isGreatest ? [[column, "DESC"]] : [],
          page: { limit: 1, offset: 0, lookAhead: false },
        },
        format: "json-strings",
        timeoutMs: TIMEOUT_MS,
      },
      CONTEXT,
    );
    if (rows.kind === "buffered")
      return (
        JSON.parse(`[${Buffer.concat(rows.parts).toString()}]`) as readonly Record<string, unknown>[]
      )[0];
    await rows.chunks.return();
    return undefined;
  }
}

const REFUSED =
  "Build the relation anew, or correct the column's type; a view or function that it reads may fail for such values.";

const CONTEXT: Parameters<Warehouse["rows"]>[1] = {
  id: "verify",
  caller: { id: "verify", tier: "tier3", org: null, allowed: null, key: null },
  version: null,
  isStillNeeded: () => true,
};

const sampleOf = ({ type }: ColumnFilter, value: unknown): string => {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return type === "text" ? text.slice(0, MAX_TEXT).toWellFormed() : text;
};

/** The conditions of an expression; none where the grammar has no such value. */
function conditionsOf(expression: string, filter: ColumnFilter) {
  const conditions = loadedFilter().readFilter(expression, {
    filters: [filter],
    timezoneOf: () => undefined,
  });
  return isHttpError(conditions) ? [] : conditions;
}

const FUNCTIONS: ReadonlySet<string> = new Set(["contains", "startswith", "endswith"]);

/** An operator with a value that a row has; null where the value has no such part. */
function expressionOf({ column, type }: ColumnFilter, operator: string, value: string): string | null {
  const name = filterName(column);
  const literal = filterLiteral(type, value);
  if (FUNCTIONS.has(operator)) return `${operator}(${name},${literal})`;
  if (operator === "in") return `${name} in (${literal})`;
  const part = PARTS[operator];
  if (part === undefined) return `${name} ${operator} ${literal}`;
  const found = part.exec(value)?.[1];
  return found === undefined ? null : `${operator}(${name}) eq ${found.replace(/^0+(?=\d+$)/, "")}`;
}

const PARTS: Readonly<Record<string, RegExp>> = {
  year: /^(\d{4})-/,
  month: /^\d{4}-(\d{2})/,
  day: /^\d{4}-\d{2}-(\d{2})/,
  date: /^(\d{4}-\d{2}-\d{2})/,
};

function shownExpression({ column }: ColumnFilter, operator: string): string {
  const name = filterName(column);
  if (FUNCTIONS.has(operator)) return `${operator}(${name}, …)`;
  return operator in PARTS ? `${operator}(${name}) eq …` : `${name} ${operator} …`;
}
