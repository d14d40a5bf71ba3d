import { isDeepStrictEqual } from "node:util";
import type { Selection } from "../model/query.js";
import type { AggregateDialect, PreparedGrouping, SourceColumns } from "./aggregate-dialect.js";
import { loadMetrics, type MetricsModule } from "./load-metrics.js";
import type { Relations } from "./relations.js";
import type { DescribedRelation, DescribedSelect, ResultColumns } from "./warehouse.js";

interface GroupingsOptions {
  /** Null: the engine serves no aggregates. */
  readonly dialect: () => AggregateDialect | null;
  readonly relations: Relations;
  /** The columns of a statement. */
  readonly describe: (select: DescribedSelect) => Promise<DescribedRelation>;
  /** Whether the database refused a statement: a relation may have changed since it was made. */
  readonly mayHaveChanged: (error: unknown) => boolean;
}

/** What an engine makes of groups and measures: statements for the types that their relations have. */
export class Groupings {
  readonly #options: GroupingsOptions;
  #engine: InstanceType<MetricsModule["AggregateEngine"]> | null = null;

  constructor(options: GroupingsOptions) {
    this.#options = options;
  }

  async prepare(selection: Selection, version: string | null): Promise<PreparedGrouping> {
    const { dialect, relations, describe } = this.#options;
    const written = dialect();
    if (written === null) throw new Error("The engine has no aggregates.");
    const { AggregateEngine } = await loadMetrics();
    this.#engine ??= new AggregateEngine({ dialect: written, relations, describe });
    return this.#engine.prepare(selection, version);
  }

  /** Where the types of what groups read have changed since they were looked up, it runs once more with those of now. */
  async run<T>(
    selection: Selection,
    version: string | null,
    work: (prepared: PreparedGrouping) => Promise<T>,
  ): Promise<T> {
    let used: PreparedGrouping | null = null;
    try {
      used = await this.prepare(selection, version);
      return await work(used);
    } catch (error) {
      if (!this.#options.mayHaveChanged(error)) throw error;
      const read = selection.grouping?.aggregate.relations ?? [];
      this.#options.relations.expire(read.map(({ relation }) => relation));
      const found = await this.prepare(selection, version);
      if (isDeepStrictEqual(found.read.map(typesOf), used?.read.map(typesOf))) throw error;
      return await work(found);
    }
  }
}

const typesOf = ({ columns }: SourceColumns): ResultColumns => columns;
