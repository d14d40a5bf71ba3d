import { isDeepStrictEqual } from "node:util";
import type { Relation } from "../model/endpoint.js";
import type { Selection } from "../model/query.js";
import { sleep } from "../model/timer.js";
import type { AggregateDialect, PreparedGrouping } from "./aggregate-dialect.js";
import { loadMetrics, type MetricsModule } from "./load-metrics.js";
import { FIRST_RETRY_PAUSE_MS, type Relations, RETRY_MS } from "./relations.js";
import type {
  ColumnChange,
  DescribedRelation,
  DescribedSelect,
  QueryContext,
  ResultColumns,
  RollUpVersion,
} from "./warehouse.js";

interface GroupingsOptions {
  /** Null: the engine serves no aggregates. */
  readonly dialect: () => AggregateDialect | null;
  readonly relations: Relations;
  /** The columns of a statement. */
  readonly describe: (select: DescribedSelect) => Promise<DescribedRelation>;
  /** What an error says of the columns that its statement was made for. */
  readonly changeIn: (error: unknown) => ColumnChange;
  readonly rollUpVersion: RollUpVersion;
}

/** What an engine makes of groups and measures: statements for the types that their relations have. */
export class Groupings {
  readonly #options: GroupingsOptions;
  #engine: InstanceType<MetricsModule["AggregateEngine"]> | null = null;

  constructor(options: GroupingsOptions) {
    this.#options = options;
  }

  async prepare(selection: Selection, version: string | null): Promise<PreparedGrouping> {
    const { dialect, ...options } = this.#options;
    const written = dialect();
    if (written === null) throw new Error("The engine has no aggregates.");
    const { AggregateEngine } = await loadMetrics();
    this.#engine ??= new AggregateEngine({ ...options, dialect: written });
    return this.#engine.prepare(selection, version);
  }

  /**
   * Runs a query of groups. Where the types of what they read have changed since they were looked up, it runs again with those of
   * now, while they change for up to `RETRY_MS`.
   */
  async run<T>(
    selection: Selection,
    context: Pick<QueryContext, "version" | "isStillNeeded" | "onRollUp">,
    work: (prepared: PreparedGrouping, columns: ResultColumns) => Promise<T>,
  ): Promise<T> {
    const until = performance.now() + RETRY_MS;
    for (let pauseMs = FIRST_RETRY_PAUSE_MS; ; pauseMs *= 2) {
      let used = null as UsedTypes | null;
      try {
        const prepared = await this.prepare(selection, context.version);
        if (selection.grouping?.aggregate.rollUps) context.onRollUp?.(prepared.rollUp ?? null);
        return await this.#options.relations.query(prepared.source, context, (columns) => {
          used = typesOf(prepared, columns);
          return work(prepared, columns);
        });
      } catch (error) {
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
    const found = await this.prepare(selection, version);
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
