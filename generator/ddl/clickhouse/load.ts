import { failed, messageOf, type Outcome, succeeded } from "@routewright/runtime/model";
import type { CopiedRelation } from "../copied-relation.js";
import { pairedColumns } from "../columns.js";
import { exportLocation } from "../export-location.js";
import type { LoadRequest, Loader } from "../loader.js";
import type { RelationScript, LoadStep } from "../script.js";
import { type ExportColumn, loadedColumn, type LoadedColumn } from "./expressions.js";
import { clickhouseLiteral as literal } from "./literal.js";
import { clickhouseSession, type RunSql } from "./session.js";
import { type TableFunction, tableFunction } from "./source.js";
import { tableScript, viewScript } from "./statements.js";
import { clickhouseAddress } from "@routewright/runtime/model";

/** ClickHouse reads the exports itself: also their columns, which a script names. */
export async function clickhouseLoader(url: string): Promise<Outcome<Loader>> {
  const address = clickhouseAddress(url);
  if (address === null) return failed(NOT_CLICKHOUSE);
  const run = clickhouseSession(address);
  try {
    await run("SELECT 1");
  } catch (error) {
    return failed(`ClickHouse cannot be reached: ${messageOf(error)}`);
  }
  /** Of each relation's source. */
  const parameters = new Map<string, Readonly<Record<string, string>>>();
  return succeeded({
    script: async (copied, request) => {
      const variables = request.as === "view" ? withoutKeys(request.variables) : request.variables;
      const source = tableFunction(exportLocation(request.from, copied), request.format, variables);
      if (!source.ok) return source;
      parameters.set(copied.relation.join("."), source.value.parameters);
      return scriptOf(run, copied, source.value, request);
    },
    apply: ({ name, steps }) => apply(run, steps, parameters.get(name)),
    print: ({ steps }) =>
      steps.flatMap((step) => (step.kind === "sql" ? [`${step.text};`] : [])).join("\n\n"),
    usage: (names) => usage(new Set(names.flatMap((name) => Object.keys(parameters.get(name) ?? {})))),
    close: () => Promise.resolve(),
  });
}

async function apply(
  run: RunSql,
  steps: readonly LoadStep[],
  parameters: Readonly<Record<string, string>> | undefined,
): Promise<void> {
  const undo: string[] = [];
  try {
    for (const step of steps) {
      if (step.kind !== "sql") continue;
      await run(step.text, parameters);
      if (step.undo !== undefined) undo.push(step.undo);
    }
  } catch (error) {
    // What is left then, the next load removes.
    for (const text of undo) await run(text).catch(() => undefined);
    throw error;
  }
}

/** A view keeps no key, and one with parameters serves nobody: the server reads with its own. */
function withoutKeys(variables: LoadRequest["variables"]): LoadRequest["variables"] {
  const others = Object.entries(variables).filter(([name]) => !KEYS.has(name));
  return Object.fromEntries(others);
}

const KEYS: ReadonlySet<string> = new Set([
  "AWS_ACCESS_KEY_ID",
  "GCS_HMAC_KEY_ID",
  "AZURE_STORAGE_CONNECTION_STRING",
  "AZURE_STORAGE_KEY",
]);

const NOT_CLICKHOUSE =
  "The models are served from ClickHouse: --database (or LOAD_DATABASE_URL) must be a clickhouse:// or clickhouses:// address of a user who may create tables.";

async function scriptOf(
  run: RunSql,
  copied: CopiedRelation,
  source: TableFunction,
  { as, buildsOf, grants }: LoadRequest,
): Promise<Outcome<RelationScript>> {
  const [database] = copied.relation;
  const columns = await exportColumns(run, copied, source);
  if (!columns.ok) return columns;
  const databases = await run(`SELECT count() FROM system.databases WHERE name = ${literal(database)}`);
  const isNewDatabase = databases.trim() === "0";
  const script = as === "view" ? viewScript : tableScript;
  return succeeded(
    script({ copied, columns: columns.value, source, builds: buildsOf(copied), isNewDatabase, grants }),
  );
}

async function exportColumns(
  run: RunSql,
  copied: CopiedRelation,
  { text, parameters }: TableFunction,
): Promise<Outcome<readonly LoadedColumn[]>> {
  const name = copied.relation.join(".");
  let described: string;
  try {
    described = await run(
      `DESCRIBE TABLE ${text} SETTINGS http_max_tries = 2 FORMAT JSONCompactEachRow`,
      parameters,
    );
  } catch (error) {
    return failed(`ClickHouse cannot read the export of ${name}: ${messageOf(error)}`);
  }
  const exported = described
    .split("\n")
    .filter((line) => line !== "")
    .map((line): ExportColumn => {
      const [column = "", type = ""] = JSON.parse(line) as readonly string[];
      return { name: column, type };
    });
  const pairs = pairedColumns(copied, exported);
  if (!pairs.ok) return pairs;
  const columns = pairs.value.map(([column, source]) => [column, loadedColumn(column, source)] as const);
  const problems = columns.flatMap(([column, outcome]) =>
    outcome.ok ? [] : outcome.problems.map((problem) => `${name}, column ${column.name}: ${problem}.`),
  );
  const loaded = columns.flatMap(([, outcome]) => (outcome.ok ? [outcome.value] : []));
  return problems.length > 0 ? failed(...problems) : succeeded(loaded);
}

function usage(parameters: ReadonlySet<string>): string {
  const given = [...parameters].map((name) => ` --param_${name}="$${name.toUpperCase()}"`).join("");
  return `clickhouse client --multiquery${given} < this file`;
}
