import { failed, type Outcome, succeeded } from "@routewright/runtime/model";
import type { CopiedRelation } from "../copied-relation.js";
import { exportLocation } from "../export-location.js";
import { COMMENT_START } from "../load-comment.js";
import type { LoadRequest, Loader } from "../loader.js";
import { conflictingNames, folderNotes } from "../folder-notes.js";
import type { RelationScript, LoadStep } from "../script.js";
import { misfitText } from "../value-check.js";
import { folderConflict, misfitIn } from "./examine.js";
import { clickhouseExport } from "./export.js";
import { clickhouseLiteral as literal } from "./literal.js";
import { type LoadedNodes, loadedNodes } from "./nodes.js";
import type { RunSql } from "./session.js";
import { type TableFunction, tableFunction } from "./source.js";
import { tablesOfLoads } from "./load-tables.js";
import { type EarlierTables, type LoadedPart, tableScript, viewScript } from "./statements.js";
import { clickhouseAddress } from "@routewright/runtime/model";

/** ClickHouse reads the exports itself: also their columns, which a script names. */
export async function clickhouseLoader(
  url: string,
  cluster: string | null = null,
  hosts: readonly string[] = [],
): Promise<Outcome<Loader>> {
  const address = clickhouseAddress(url);
  if (address === null) return failed(NOT_CLICKHOUSE);
  const loaded = await loadedNodes(address, cluster, hosts);
  if (!loaded.ok) return loaded;
  /** Of each relation. */
  const readings = new Map<string, ClickhouseReading>();
  return succeeded({
    script: async (copied, request) => {
      const variables = request.as === "view" ? withoutKeys(request.variables) : request.variables;
      const source = tableFunction(exportLocation(request.from, copied), request.format, variables);
      if (!source.ok) return source;
      const script = await scriptOf(loaded.value, copied, source.value, request);
      if (script.ok) readings.set(script.value.name, script.value);
      return script;
    },
    apply: ({ name, steps }) => apply(loaded.value.nodes, steps, readings.get(name)),
    print: ({ steps }) => steps.flatMap((step) => printed(step, cluster !== null)).join("\n\n"),
    usage: (names) =>
      cluster === null
        ? usage(new Set(names.flatMap((name) => Object.keys(readings.get(name)?.source.parameters ?? {}))))
        : "the same command with --apply, which reaches every node",
    close: () => Promise.resolve(),
  });
}

const printed = (step: LoadStep, isCluster: boolean): readonly string[] =>
  step.kind === "sql" ? [`${isCluster && step.onEachNode ? "-- On each node:\n" : ""}${step.text};`] : [];

async function apply(
  nodes: readonly RunSql[],
  steps: readonly LoadStep[],
  reading: ClickhouseReading | undefined,
): Promise<void> {
  const parameters = reading?.source.parameters;
  const undo: (() => Promise<unknown>)[] = [];
  try {
    for (const step of steps) {
      if (step.kind !== "sql") continue;
      // Whether a node that fails has exchanged its tables is not known: what the load made stays, and the next one removes it.
      if (step.phase === "commit") undo.length = 0;
      for (const node of step.onEachNode ? nodes : nodes.slice(0, 1)) {
        const running = node(step.text, parameters);
        await (step.phase === "cleanup" ? running.catch(() => undefined) : running);
        const { undo: text } = step;
        if (text !== undefined) undo.unshift(() => node(text));
      }
    }
  } catch (error) {
    for (const back of undo) await back().catch(() => undefined);
    const [node] = nodes;
    const isRead = node !== undefined && reading !== undefined;
    const misfit = isRead ? await misfitIn(node, reading.parts, reading.source).catch(() => null) : null;
    throw misfit === null ? error : new Error(misfitText(misfit), { cause: error });
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
  { nodes, cluster }: LoadedNodes,
  copied: CopiedRelation,
  source: TableFunction,
  { as, buildsOf, grants, id }: LoadRequest,
): Promise<Outcome<RelationScript & ClickhouseReading>> {
  const [first] = nodes;
  if (first === undefined) return failed("There is no server to load.");
  const found = await clickhouseExport(first, copied, source);
  if (!found.ok) return found;
  const { parts, files, folders } = found.value;
  const conflicts: string[] = [];
  for (const name of conflictingNames(copied, files))
    conflicts.push(...[await folderConflict(first, found.value, source, name)].filter((one) => one !== null));
  const notes = folderNotes(copied, folders, conflicts);
  const [database] = copied.relation;
  const known = `SELECT count() FROM system.databases WHERE name = ${literal(database)}`;
  const counts = await Promise.all(nodes.map(async (node) => (await node(known)).trim()));
  const script = as === "view" ? viewScript : tableScript;
  return succeeded({
    ...{ parts, source },
    ...script({
      ...{ copied, source, grants, id, cluster, parts, notes, builds: buildsOf(copied) },
      isNewDatabase: counts.includes("0"),
      earlier: await earlierTables(nodes, copied),
    }),
  });
}

/** What is read to say why a load failed. */
interface ClickhouseReading {
  readonly parts: readonly LoadedPart[];
  readonly source: TableFunction;
}

/** Tables that other loads have made, on any node; of these the ones that the served relation of any node reads. */
async function earlierTables(nodes: readonly RunSql[], copied: CopiedRelation): Promise<EarlierTables> {
  const [database, name] = copied.relation.map(literal);
  const lines = async (sql: string): Promise<readonly string[]> => {
    const texts = await Promise.all(nodes.map((node) => node(sql)));
    return [...new Set(texts.join("").split("\n"))].filter((line) => line !== "");
  };
  const ofLoads = `match(name, ${literal(tablesOfLoads(copied))}) AND startsWith(comment, ${literal(COMMENT_START)})`;
  const tables = await lines(
    `SELECT name FROM system.tables WHERE database = ${String(database)} AND ${ofLoads} FORMAT TSVRaw`,
  );
  const read = await lines(
    `SELECT engine_full FROM system.tables WHERE database = ${String(database)} AND name = ${String(name)} AND engine = 'Distributed' FORMAT TSVRaw`,
  );
  const isServed = (table: string): boolean => read.some((engine) => engine.includes(literal(table)));
  return { served: tables.filter(isServed), left: tables.filter((table) => !isServed(table)) };
}

/** The client reads keys from its input, where `printf` of the shell writes them: arguments are in the list of processes. */
function usage(parameters: ReadonlySet<string>): string {
  const client = "clickhouse client --multiquery";
  const set = [...parameters].map(
    (name) => `printf "SET param_${name} = '%s';\\n" "$${name.toUpperCase()}"; `,
  );
  return set.length === 0 ? `${client} < this file` : `{ ${set.join("")}cat this file; } | ${client}`;
}
