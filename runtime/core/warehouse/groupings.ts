import { isDeepStrictEqual } from "node:util";
import type { Relation } from "../model/endpoint.js";
import type { Selection } from "../model/query.js";
import { sleep } from "../model/timer.js";
import type { AggregateDialect, PreparedGrouping } from "./aggregate-dialect.js";
import { loadMetrics, type MetricsModule } from "./load-metrics.js";
import { FIRST_RETRY_PAUSE_MS, type SchemaCache, RETRY_MS } from "./schema-cache.js";
import type { ColumnChange } from "./query-errors.js";
import type {
  DescribedRelation,
  DescribedSelect,
  QueryContext,
  ResultColumns,
  RollUpVersion,
} from "./warehouse.js";

interface GroupingsOptions {
  /** Null: the engine serves no aggregates. */
  readonly dialect: () => AggregateDialect | null;
  readonly relations: SchemaCache;
  /** The columns of a statement. */
  readonly describe: (select: DescribedSelect) => Promise<DescribedRelation>;
  /** What an error says of the columns that its statement was made for. */
  readonly changeIn: (error: unknown) => ColumnChange;
  readonly rollUpVersion: RollUpVersion;
}

/** What an engine makes of groups and measures: statements for the types that their relations have. */
export class Groupings {
  readonly #options: GroupingsOptions;
  /** Roll-ups that the database does not answer from, by their dbt nodes, with their versions. Bounded by the roll-ups of the project. */
  readonly #refused = new Map<string, string>();
  #engine: InstanceType<MetricsModule["AggregateEngine"]> | null = null;

  constructor(options: GroupingsOptions) {
    this.#options = options;
  }

  async prepare(
    selection: Selection,
    version: string | null,
    readsRollUps = true,
  ): Promise<PreparedGrouping> {
    const { dialect, ...options } = this.#options;
    const rollUpVersion = (node: string): string | null => {
      const current = options.rollUpVersion(node);
      return this.#refused.get(node) === current ? null : current;
    };
    const written = dialect();
    if (written === null) throw new Error("The engine has no aggregates.");
    const { AggregateEngine } = await loadMetrics();
    this.#engine ??= new AggregateEngine({ ...options, rollUpVersion, dialect: written });
    return this.#engine.prepare(selection, version, readsRollUps);
  }

  /**
   * Runs a query of groups. Where the types of what they read have changed since they were looked up, it runs again with those of
   * now, while they change for up to `RETRY_MS`. Where the database refuses a roll-up, such as one that its role may not read, the
   * rows themselves answer.
   */
  async run<T>(
    selection: Selection,
    context: Pick<QueryContext, "version" | "isStillNeeded" | "onRollUp">,
    work: (prepared: PreparedGrouping, columns: ResultColumns) => Promise<T>,
  ): Promise<T> {
    const until = performance.now() + RETRY_MS;
    let refused: PreparedGrouping["rollUp"];
    for (let pauseMs = FIRST_RETRY_PAUSE_MS; ; pauseMs *= 2) {
      let used = null as UsedTypes | null;
      let rollUp: PreparedGrouping["rollUp"];
      try {
        const prepared = await this.prepare(selection, context.version, refused === undefined);
        rollUp = prepared.rollUp;
        if (selection.grouping?.aggregate.rollUps) context.onRollUp?.(rollUp?.relation ?? null);
        const made = await this.#options.relations.query(prepared.source, context, (columns) => {
          used = typesOf(prepared, columns);
          return work(prepared, columns);
        });
        if (refused !== undefined) this.#refused.set(refused.node, refused.version);
        return made;
      } catch (error) {
        if (rollUp !== undefined && this.#options.changeIn(error) !== "none" && context.isStillNeeded()) {
          refused = rollUp;
          continue;
        }
        if (!(await this.#haveChanged(selection, context.version, used, error))) throw error;
        if (performance.now() > until || !context.isStillNeeded()) throw error;
      }
      await sleep(pauseMs);
    }
  }

  /** Whether the types are others than those that a statement was made for. Rejects where none can be made now. */
  async #haveChanged(
    selection: Selection,
    version: string | null,
    used: UsedTypes | null,
    error: unknown,
  ): Promise<boolean> {
    const { relations, changeIn } = this.#options;
    const change = changeIn(error);
    if (change === "none") return false;
    relations.expire(readBy(selection));
    if (change === "certain") return true;
    // One that answers from a roll-up has failed without it.
    const found = await this.prepare(selection, version, false);
    return !isDeepStrictEqual(typesOf(found, await relations.columns(found.source, version)), used);
  }
}

/** What a grouping may read, its roll-ups too. */
export function readBy({ grouping }: Selection): readonly Relation[] {
  const { relations = [], rollUps = [] } = grouping?.aggregate ?? {};
  return [...relations, ...rollUps].map(({ relation }) => relation);
}

/** What a statement was made for: the rows, the types of what it reads, and those of its own rows. */
type UsedTypes = readonly [key: string, ...types: readonly ResultColumns[]];

const typesOf = ({ source, read }: PreparedGrouping, columns: ResultColumns): UsedTypes => [
  source.key,
  ...read.map((each) => each.columns),
  columns,
];
