import { BoundedCache, keyOf } from "../http/bounded-cache.js";
import type { Relation } from "../model/endpoint.js";
import type { Selection } from "../model/query.js";
import { conditionForm, groupingKey } from "../model/query-key.js";
import type { GroupedStatement, PreparedGrouping } from "./aggregate-dialect.js";
import type { DerivedRows, RowSource } from "./schema-cache.js";
import type { ResultColumns } from "./warehouse.js";

/** The columns of what a grouping reads, in the version of a request. */
export type LookUpColumns = (source: RowSource) => ResultColumns | Promise<ResultColumns>;

/** `text`: what the rows follow from. */
export const derivedRows = (
  text: string,
  relations: readonly Relation[],
  describe: DerivedRows["describe"],
): DerivedRows => ({ key: keyOf(text), relations, describe });

/** What was made of columns, and these. */
interface MadeWith<T> {
  readonly value: T;
  readonly madeOf: readonly MadeOf[];
}

/** A grouping, the columns that it was made of, and what answers in its place. */
class KeptGrouping<T extends PreparedGrouping> {
  readonly prepared: T;
  readonly madeOf: readonly MadeOf[];
  readonly #parts: number;
  /** By the names of their rows: bounded by the roll-ups of the project. */
  readonly #inPlace = new Map<string, MadeWith<KeptGrouping<T> | null> & { readonly version: string }>();
  #last: { readonly results: ResultColumns; readonly statement: GroupedStatement } | null = null;

  constructor({ value, madeOf }: MadeWith<T>, parts: number) {
    this.prepared = { ...value, select: (results) => this.#select(results, value) };
    this.madeOf = madeOf;
    this.#parts = parts;
  }

  get bytes(): number {
    const texts = this.#last?.statement.select.texts ?? [];
    const own = texts.reduce((sum, text) => sum + text.length, GROUPING_BYTES + PART_BYTES * this.#parts);
    return [...this.#inPlace.values()].reduce((sum, { value }) => sum + (value?.bytes ?? 0), own);
  }

  /** What answers in its place from other rows in a version; null where these do not have all that is asked. */
  async inPlace(
    { name, version }: { readonly name: string; readonly version: string },
    look: LookUpColumns,
    make: (look: LookUpColumns) => Promise<T | null>,
  ): Promise<T | null> {
    const known = this.#inPlace.get(name);
    if (known?.version === version && (await isCurrent(known, look))) return known.value?.prepared ?? null;
    const { value: made, madeOf } = await recorded(look, make);
    const value = made && new KeptGrouping({ value: made, madeOf }, this.#parts);
    this.#inPlace.set(name, { version, value, madeOf });
    return value?.prepared ?? null;
  }

  /** Results are one object while nothing has changed. */
  #select(results: ResultColumns, { select }: PreparedGrouping): GroupedStatement {
    if (this.#last?.results !== results) this.#last = { results, statement: select(results) };
    return this.#last.statement;
  }
}

interface MadeOf {
  readonly source: RowSource;
  readonly columns: ResultColumns;
}

/** Of a grouping, and of each group, measure and condition: with the statement's text 9,900 to 33,000 were measured. */
const GROUPING_BYTES = 9500;
const PART_BYTES = 550;

/** What callers ask of groups, without the values: a statement takes 0.6 ms to make. */
export class KeptGroupings<T extends PreparedGrouping> {
  readonly #kept = new BoundedCache<KeptGrouping<T>>("groupings", { sizeOf: ({ bytes }) => bytes });

  /** `make`: where none is kept, or what it reads has other columns by now. */
  async get(
    selection: Selection,
    look: LookUpColumns,
    make: (look: LookUpColumns) => Promise<T>,
  ): Promise<KeptGrouping<T>> {
    const key = groupingForm(selection);
    const known = this.#kept.get(key);
    if (known !== undefined && (await isCurrent(known, look))) return known;
    const { grouping, conditions } = selection;
    const parts = (grouping?.groups.length ?? 0) + (grouping?.measures.length ?? 0) + conditions.length;
    const kept = new KeptGrouping(await recorded(look, make), parts);
    this.#kept.set(key, kept);
    return kept;
  }
}

async function recorded<T>(
  look: LookUpColumns,
  make: (look: LookUpColumns) => Promise<T>,
): Promise<MadeWith<T>> {
  const madeOf: MadeOf[] = [];
  const value = await make(async (source) => {
    const columns = await look(source);
    madeOf.push({ source, columns });
    return columns;
  });
  return { value, madeOf };
}

async function isCurrent(
  { madeOf }: Pick<MadeWith<unknown>, "madeOf">,
  look: LookUpColumns,
): Promise<boolean> {
  for (const { source, columns } of madeOf) if ((await look(source)) !== columns) return false;
  return true;
}

/** All of a selection that its statement follows from, except the values. Messages name the parameters. */
function groupingForm({ grouping, conditions }: Selection): string {
  if (grouping === undefined) throw new Error("Not a grouping.");
  return groupingKey(grouping) + conditions.map((each) => conditionForm(each, ({ name }) => name)).join("");
}
