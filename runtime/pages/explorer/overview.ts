import { withoutPreamble } from "../../core/model/endpoint-title.js";
import { TIER_NAMES } from "../../core/model/tier.js";
import type { CatalogueEndpoint, TestSummary } from "../catalogue-body.js";
import { breakable, type Child, count, el, prose, time } from "./dom.js";
import { typeInWords } from "./values.js";

/** Path, tier and description of an endpoint. */
export function overview(endpoint: CatalogueEndpoint): readonly Child[] {
  return [
    heading(endpoint),
    el("p.description", ...prose(withoutPreamble(endpoint.description) || "No description.")),
    endpoint.stability === "preview" && el("p.warning", "Preview: it may change without notice."),
    deprecation(endpoint),
    versionPath(endpoint),
    ...(endpoint.former_paths ?? []).map(formerPath),
  ];
}

function heading({ path, title, methods, tier, model, stability }: CatalogueEndpoint): HTMLElement {
  return el(
    "header",
    el(
      "div.badges",
      ...methods.map((method) => el("span.badge.method", method)),
      el(`span.badge.${tier}`, `${TIER_NAMES[tier]} (${tier})`),
      stability === "preview" && el("span.badge.preview", "preview"),
    ),
    el("h2", { id: "endpoint-title", tabindex: -1 }, title),
    el("p.model", el("code.path", ...breakable(path)), ` · dbt model ${model}`),
  );
}

function versionPath({ version, version_path: path }: CatalogueEndpoint): Child {
  return (
    path !== undefined && el("p", `Version ${version ?? ""}, the latest. `, el("code", path), " stays at it.")
  );
}

function deprecation({
  deprecation_date,
  gone_at: end,
  successor,
  successor_changes: changes,
}: CatalogueEndpoint): Child {
  if (deprecation_date === null && successor === null) return null;
  return el(
    "p.warning",
    deprecation_date === null ? "There is a later version" : "Deprecated: it may be removed ",
    deprecation_date !== null && time(deprecation_date),
    successor !== null && ": use ",
    successor !== null && el("a", { href: `?endpoint=${encodeURIComponent(successor)}` }, successor),
    ".",
    end !== undefined && " It answers 410 from ",
    end !== undefined && time(end),
    end !== undefined && ".",
    changes !== undefined && ` What changes there: ${changes.join("; ")}.`,
  );
}

function formerPath({ path, sunset }: NonNullable<CatalogueEndpoint["former_paths"]>[number]): Child {
  const until = sunset === null ? [] : [": it may stop answering ", time(sunset)];
  return el("p.warning", "Deprecated path ", el("code", path), ...until, ".");
}

/** Latest build, tests, page size and order. */
export function facts(endpoint: CatalogueEndpoint): HTMLElement {
  const { callable, last_build, data_as_of, freshness, enforced, pagination, sort } = endpoint;
  const rows: (readonly [string, readonly Child[]])[] = [
    ["Last build", callable ? buildFact(last_build) : [NOT_SHOWN]],
    ["Data as of", data_as_of === null ? [] : [time(data_as_of)]],
    ["Promised", callable && freshness ? promiseFact(freshness) : []],
    ["Tests", callable ? testsFacts(endpoint) : [NOT_SHOWN]],
    ["Enforced", enforced === undefined ? [] : [enforced.join(", ")]],
    [
      "Rows per page",
      pagination === null
        ? ["all"]
        : [
            `${pagination.default_limit.toLocaleString("en")}, at most ${pagination.max_limit.toLocaleString("en")}`,
          ],
    ],
    ["Sorted by", sort.length === 0 ? [] : [sort.map((order) => order.join(" ")).join(", ")]],
  ];
  return el(
    "dl.facts",
    ...rows
      .filter(([, value]) => value.length > 0)
      .map(([name, value]) => el("div", el("dt", name), el("dd", ...value))),
  );
}

const NOT_SHOWN = "not shown with this key";

/** How old the rows may be, and whether they are older. */
function promiseFact(freshness: NonNullable<CatalogueEndpoint["freshness"]>): readonly Child[] {
  const { promise, due, warn_at = null, warn_after_seconds, error_after_seconds } = freshness;
  const isPast = (instant: string | null): boolean => instant !== null && Date.parse(instant) < Date.now();
  if (isPast(due)) return [`${promise}; `, el("strong.bad", "late since "), time(due ?? "")];
  if (isPast(warn_at))
    return [`${promise}; `, el("strong.odd", "nearly too old since "), time(warn_at ?? "")];
  const until = due ?? warn_at;
  const next = (warn_after_seconds ?? error_after_seconds) === undefined ? "build" : "load";
  return until === null ? [`${promise}; no ${next} is known`] : [`${promise}; next ${next} by `, time(until)];
}

function buildFact(build: CatalogueEndpoint["last_build"]): readonly Child[] {
  if (build === null) return ["not known"];
  const rows = build.rows === null ? "" : `, ${count(build.rows, "row")}`;
  return [build.failed && el("strong.bad", "failed "), time(build.completed_at), rows];
}

function testsFacts({ tests, on_failed_test }: CatalogueEndpoint): readonly Child[] {
  if (tests === null) return ["none"];
  const rule = "no rows are served while one fails";
  return [testsFact(tests), on_failed_test === "refuse" && el("span", `; ${rule}`)];
}

function testsFact({ passed, warned, failed, skipped, unknown, problems }: TestSummary): HTMLElement {
  const parts = [
    [passed, "passed", "good"],
    [warned, "warned", "odd"],
    [failed, "failed", "bad"],
    [skipped, "skipped", "odd"],
    [unknown, "not run yet", ""],
  ] as const;
  const summary = parts
    .filter(([number]) => number > 0)
    .map(([number, words, style], i) =>
      el("span", { class: style }, `${i === 0 ? "" : ", "}${String(number)} ${words}`),
    );
  if (problems.length === 0) return el("span", ...summary);
  const list = problems.map(({ name, status, failures }) =>
    el("li", `${name}: ${status}${failures === null ? "" : `, ${count(failures, "row")}`}`),
  );
  return el("details", el("summary", ...summary), el("ul", ...list));
}

/** Longest example in a table. */
const MAX_EXAMPLE = 60;

function exampleText(example: unknown): string {
  if (example === undefined || example === null) return "";
  const text = typeof example === "string" ? example : JSON.stringify(example);
  return text.length > MAX_EXAMPLE ? `${text.slice(0, MAX_EXAMPLE)}…` : text;
}

export function columnsTable({ columns }: CatalogueEndpoint): HTMLElement {
  const hasExamples = columns.some(({ example }) => exampleText(example) !== "");
  const hasTests = columns.some(({ tests }) => tests != null);
  const rows = columns.map(({ name, type, description, accepted_values, example, tests }) => [
    name,
    typeInWords(type),
    description + oneOf(accepted_values),
    ...(hasExamples ? [exampleText(example)] : []),
    ...(hasTests ? [tests == null ? "" : testsFact(tests)] : []),
  ]);
  const head = [
    ...["Column", "Type", "Description"],
    ...(hasExamples ? ["Example"] : []),
    ...(hasTests ? ["Tests"] : []),
  ];
  return definitions("Columns", head, rows, "The model declares no columns: all of the table's are served.");
}

/** What may be asked by group. */
export function measuresTable({ measures }: NonNullable<CatalogueEndpoint["aggregate"]>): HTMLElement {
  const rows = measures.map(({ name, label, description, groups }) => [
    name,
    groups.join(", "),
    [label ?? "", description].filter((text) => text !== "").join(": "),
  ]);
  return definitions("Measures", ["Measure", "Groups", "Description"], rows, "There are none.");
}

/** What an endpoint takes, where there is no form. */
export function parametersTable({ parameters, filters = [], pagination }: CatalogueEndpoint): HTMLElement {
  const paging = pagination === null ? [] : ["limit", "offset"];
  const rows = [
    ...(parameters ?? []).map(({ name, column, operator, description, accepted_values }) => [
      name,
      `${column} ${operator}`,
      description + oneOf(accepted_values),
    ]),
    ...filters.map(({ column, operators }) => [`${column}[…]`, operators.join(", "), ""]),
    ...paging.map((name) => [name, "", "Paging."]),
  ];
  return definitions("Parameters", ["Parameter", "Compares", "Description"], rows, NO_PARAMETERS);
}

export const NO_PARAMETERS = "Takes no parameters: the whole table.";

function oneOf(values: readonly string[] | undefined): string {
  return values === undefined ? "" : ` One of: ${values.join(", ")}.`;
}

function definitions(
  label: string,
  headers: readonly string[],
  rows: readonly (readonly Child[])[],
  none: string,
): HTMLElement {
  if (rows.length === 0) return el("p.note", none);
  const lines = rows.map(([name = "", type = "", description = "", ...more]) =>
    el(
      "tr",
      el("th", { scope: "row" }, name),
      el("td.type", type),
      el("td", ...(typeof description === "string" ? prose(description) : [description])),
      ...more.map((child) => el("td", child)),
    ),
  );
  return el(
    "div.wide",
    { tabindex: 0, role: "region", "aria-label": label },
    el(
      "table.columns",
      el("thead", el("tr", ...headers.map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", ...lines),
    ),
  );
}
