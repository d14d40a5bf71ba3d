import type { LetterCase, Parameter } from "@routewright/runtime/model";
import { accessPathsOf, declaresStorage, type Need, serves, tablesOf } from "../access-path.js";
import type { Check, Remark, Subject } from "../finding.js";
import type { Engine, Project } from "../project.js";
import { joined, list, plain, sentence, type Sentence } from "../sentence.js";
import { BOUNDED } from "./tables.js";

/** A place where `meta.api` has rows found or ordered by a column. */
interface Use {
  readonly column: string;
  readonly need: Need;
  readonly letterCase: LetterCase | null;
  /** What callers know it by. */
  readonly name: string;
  readonly path: string;
}

/** A column to filter or sort by, for which the tables beneath declare no index or sorting key. */
export const unindexedColumn: Check = {
  find(subject, { project }) {
    if (BOUNDED.has(subject.entry.granularity) || project.engine === null) return [];
    const uses = usesOf(subject);
    const columns = [...new Set(uses.map(({ column }) => column))];
    return columns.flatMap((column) =>
      remarks(
        subject,
        uses.filter((use) => use.column === column),
        project,
        column,
      ),
    );
  },
  skipReason({ engine, nodes }) {
    if (engine === null) return "indexes of this database are not known to Routewright";
    const tells = engine === "postgres" || [...nodes.values()].some(declaresStorage);
    return tells ? null : "no model declares an `order_by`, `engine` or index";
  },
};

/** Of the fixed sort only the first key counts: the others order what ties in it. */
function usesOf({ entry: { endpoint }, apiPath }: Subject): readonly Use[] {
  const { parameters, sort, sortableFields } = endpoint;
  const inOrder = { need: "order", letterCase: null } as const;
  return [
    ...parameters.map((parameter, i) => ({
      ...filterUse(parameter),
      path: `${apiPath}.parameters[${String(i)}].column`,
    })),
    ...sort
      .slice(0, 1)
      .map(([column]) => ({ ...inOrder, column, name: "sort", path: `${apiPath}.sort[0].column` })),
    ...sortableFields.map((column, i) => {
      return { ...inOrder, column, name: "sort_by", path: `${apiPath}.sortable_fields[${String(i)}]` };
    }),
  ];
}

function filterUse(parameter: Parameter): Omit<Use, "path"> {
  const { name, column } = parameter;
  const letterCase = ("case" in parameter && parameter.case) || null;
  switch (parameter.operator) {
    case "=":
    case "IN":
      return { name, column, letterCase, need: "equal" };
    case ">=":
    case "<=":
      return { name, column, letterCase, need: "range" };
    case "ILIKE":
      return { name, column, letterCase, need: "pattern" };
  }
}

function remarks(subject: Subject, uses: readonly Use[], project: Project, column: string): Remark[] {
  const { engine } = project;
  const tables = tablesOf(subject.node, column, project);
  if (tables === null || engine === null) return [];
  const paths = tables.map((table) => accessPathsOf(table, engine));
  if (paths.includes(null)) return [];
  const all = paths.flatMap((ways) => ways ?? []);
  const unserved = uses.filter(
    ({ need, letterCase }) => !all.some((way) => serves(way, column, need, letterCase)),
  );
  const [first] = unserved;
  if (first === undefined) return [];
  const names = list([...new Set(unserved.map(({ name }) => name))]);
  const isOwn = tables.length === 1 && tables[0] === subject.node;
  const owner = isOwn ? plain("the model") : sentence`${list(tables.map(({ name }) => name))}`;
  return [
    {
      path: first.path,
      message: joined(
        plain("No index of "),
        owner,
        sentence` serves the column ${column}. Each request that filters or sorts by it (${names}) reads the whole table.`,
      ),
      hint: hintFor(unserved, engine),
    },
  ];
}

function hintFor(uses: readonly Use[], engine: Engine): Sentence {
  const hints = new Set(uses.map((use) => adviceFor(use, engine)));
  return plain([...hints].join(" "));
}

function adviceFor({ need, letterCase }: Use, engine: Engine): string {
  switch (engine) {
    case "postgres":
      if (need === "pattern")
        return "A search within text needs a trigram index: `type: gin` with `gin_trgm_ops`.";
      if (letterCase === null)
        return "Add an entry to that model's `config.indexes` with the column in first place.";
      return `\`case: ${letterCase}\` compares \`${letterCase}(…)\` of the column: the index must be on that expression.`;
    case "clickhouse":
      if (need === "pattern") return "A search within text needs a data skipping index, in `config.indexes`.";
      if (need === "order")
        return "Put the column in first place of `order_by`, or add a projection in its order.";
      if (letterCase === null)
        return "Put the column in first place of `order_by`, or give it a data skipping index.";
      return `\`case: ${letterCase}\` compares \`${letterCase}(…)\` of the column: index that expression.`;
  }
}
