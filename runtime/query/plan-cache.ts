import type { Relation } from "../model/endpoint.js";
import type { ResultColumns } from "./dialect.js";
import type { Selection } from "./selection.js";
import type { Plan } from "./sql.js";

/** Forms kept for one shape: callers choose the filters, and must not choose how much memory that takes. */
const MAX_FORMS = 200;

/** Plans by the relation, its shape and the form of the selection: all of it but the values. */
export class PlanCache {
  readonly #plans = new WeakMap<ResultColumns, Map<string, Plan<Selection>>>();

  /** `use`: what the plan is for, besides the selection. */
  of(
    use: string,
    relation: Relation,
    shape: ResultColumns,
    selection: Selection,
    make: () => Plan<Selection>,
  ): Plan<Selection> {
    let plans = this.#plans.get(shape);
    if (!plans) this.#plans.set(shape, (plans = new Map<string, Plan<Selection>>()));
    const form = formOf(use, relation, selection);
    const known = plans.get(form);
    if (known) return known;
    const made = make();
    if (plans.size < MAX_FORMS) plans.set(form, made);
    return made;
  }
}

/** No name holds the separator: PostgreSQL knows no such character, and a catalogue with one is refused. */
function formOf(use: string, [schema, name]: Relation, { conditions, sort, page }: Selection): string {
  let form = `${use}\0${schema}\0${name}\0`;
  form += page === null ? "" : page.lookAhead ? "envelope" : "page";
  for (const { column, operator, ...filter } of conditions) {
    form += `\0${column}\0${operator}\0${"case" in filter ? (filter.case ?? "") : ""}`;
  }
  for (const [column, direction] of sort) form += `\0\0${column}\0${direction}`;
  return form;
}
