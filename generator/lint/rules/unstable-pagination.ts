import { list, plain, sentence, type Sentence } from "../../report/sentence.js";
import type { Project } from "../project/project.js";
import { uniqueKeysOf, type UniqueKey } from "../project/unique-keys.js";
import type { Check, Subject } from "./check.js";

/** Pages of rows whose order leaves ties: the database may break them differently for each page. */
export const unstablePagination: Check = {
  find(subject, { project }) {
    const { endpoint } = subject.entry;
    if (endpoint.pagination === null) return [];
    const sorted = endpoint.sort.map(([column]) => column);
    const keys = uniqueKeysOf(subject.node, project);
    if (keys.some((key) => key.every((column) => sorted.includes(column)))) return [];
    const path = sorted.length === 0 ? `${subject.apiPath}.pagination` : `${subject.apiPath}.sort`;
    return [{ path, message: messageFor(sorted), hint: hintFor(subject, keys, project) }];
  },
};

function messageFor(sorted: readonly string[]): Sentence {
  if (sorted.length === 0)
    return sentence`Pages have no order: the database may return rows in another one for each page, so that a caller who follows \`offset\` gets some rows twice and others never.`;
  return sentence`Rows are sorted by ${list(sorted)}, which nothing declares unique: where rows tie, each page may order them anew, so that a caller who follows \`offset\` gets some rows twice and others never.`;
}

function hintFor({ entry }: Subject, keys: readonly UniqueKey[], { engine }: Project): Sentence {
  const columns = entry.endpoint.columns.map(({ name }) => name);
  const known = keys.find((key) => key.every((column) => columns.includes(column)));
  if (known) return sentence`End \`sort\` with the columns of a unique key: ${list(known)}.`;
  const sorting =
    engine === "clickhouse" ? " (`order_by` and `primary_key` are not: ClickHouse lets rows share them)" : "";
  return plain(
    `End \`sort\` with columns that identify a row, and declare them unique: a \`unique\` or \`dbt_utils.unique_combination_of_columns\` test, a constraint, or \`unique_key\`${sorting}.`,
  );
}
