import { TIER_NAMES } from "../../model/tier.js";
import type { CatalogueEndpoint, TestSummary } from "../catalogue-body.js";
import { type Child, count, el, prose, time } from "./dom.js";

/** Path, tier and description of an endpoint. */
export function overview(endpoint: CatalogueEndpoint): readonly Child[] {
  return [
    heading(endpoint),
    el("p", { class: "description" }, ...prose(endpoint.description || "No description.")),
    deprecation(endpoint),
    ...(endpoint.former_paths ?? []).map(formerPath),
  ];
}

function heading({ path, methods, tier, model }: CatalogueEndpoint): HTMLElement {
  return el(
    "header",
    {},
    el(
      "div",
      { class: "badges" },
      ...methods.map((method) => el("span", { class: "badge method" }, method)),
      el("span", { class: `badge ${tier}` }, `${TIER_NAMES[tier]} (${tier})`),
    ),
    // Lines may break after a slash or an underscore.
    el(
      "h2",
      { id: "endpoint-path", tabindex: -1 },
      ...path.split(/(?<=[/_])/).flatMap((part) => [part, el("wbr")]),
    ),
    el("p", { class: "model" }, `dbt model ${model}`),
  );
}

function deprecation({ deprecation_date, successor }: CatalogueEndpoint): Child {
  if (deprecation_date === null && successor === null) return null;
  return el(
    "p",
    { class: "warning" },
    deprecation_date === null ? "There is a later version" : "Deprecated: it may be removed ",
    deprecation_date !== null && time(deprecation_date),
    successor !== null && ": use ",
    successor !== null && el("a", { href: `?endpoint=${encodeURIComponent(successor)}` }, successor),
    ".",
  );
}

function formerPath({ path, sunset }: NonNullable<CatalogueEndpoint["former_paths"]>[number]): Child {
  const until = sunset === null ? [] : [": it may stop answering ", time(sunset)];
  return el("p", { class: "warning" }, "Deprecated path ", el("code", {}, path), ...until, ".");
}

/** Latest build, tests, page size and order. */
export function facts({ last_build, data_as_of, tests, pagination, sort }: CatalogueEndpoint): HTMLElement {
  const rows: (readonly [string, readonly Child[]])[] = [
    ["Last build", buildFact(last_build)],
    ["Data as of", data_as_of === null ? [] : [time(data_as_of)]],
    ["Tests", tests === null ? ["none"] : [testsFact(tests)]],
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
    "dl",
    { class: "facts" },
    ...rows
      .filter(([, value]) => value.length > 0)
      .map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, ...value))),
  );
}

function buildFact(build: CatalogueEndpoint["last_build"]): readonly Child[] {
  if (build === null) return ["not known"];
  const rows = build.rows === null ? "" : `, ${count(build.rows, "row")}`;
  return [build.failed && el("strong", { class: "bad" }, "failed "), time(build.completed_at), rows];
}

function testsFact({ passed, warned, failed, unknown, problems }: TestSummary): HTMLElement {
  const parts = [
    [passed, "passed", "good"],
    [warned, "warned", "odd"],
    [failed, "failed", "bad"],
    [unknown, "not run yet", ""],
  ] as const;
  const summary = parts
    .filter(([number]) => number > 0)
    .map(([number, words, style], i) =>
      el("span", { class: style }, `${i === 0 ? "" : ", "}${String(number)} ${words}`),
    );
  if (problems.length === 0) return el("span", {}, ...summary);
  const list = problems.map(({ name, status, failures }) =>
    el("li", {}, `${name}: ${status}${failures === null ? "" : `, ${count(failures, "row")}`}`),
  );
  return el("details", {}, el("summary", {}, ...summary), el("ul", {}, ...list));
}

export function columnsTable({ columns }: CatalogueEndpoint): HTMLElement {
  if (columns.length === 0)
    return el("p", { class: "note" }, "The model declares no columns: all of the table's are served.");
  return el(
    "div",
    { class: "wide", tabindex: 0, role: "region", "aria-label": "Columns" },
    el(
      "table",
      { class: "columns" },
      el(
        "thead",
        {},
        el("tr", {}, ...["Column", "Type", "Description"].map((name) => el("th", { scope: "col" }, name))),
      ),
      el(
        "tbody",
        {},
        ...columns.map(({ name, type, description, accepted_values }) =>
          el(
            "tr",
            {},
            el("th", { scope: "row" }, name),
            el("td", { class: "type" }, type ?? ""),
            el(
              "td",
              {},
              ...prose(description),
              accepted_values !== undefined && ` One of: ${accepted_values.join(", ")}.`,
            ),
          ),
        ),
      ),
    ),
  );
}
