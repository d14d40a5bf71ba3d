/** How to call the API: the sections of the guide with calls of its own endpoints. */
import type { CatalogueBody, CatalogueEndpoint } from "../catalogue-body.js";
import { BASE } from "../explorer/api.js";
import { type Child, copyable, el } from "../explorer/dom.js";
import { TIER_NAMES, TIERS } from "../../core/model/tier.js";
import {
  allPagesPython,
  allPagesScript,
  curlOf,
  dltOf,
  type Examples,
  filterOf,
  pandasOf,
  singerOf,
} from "./examples.js";
import { code, paragraph, table } from "./parts.js";

/** A link to an endpoint in the explorer. */
const endpointLink = ({ path, title }: CatalogueEndpoint): HTMLElement =>
  el("a", { href: `explore?endpoint=${encodeURIComponent(path)}`, title: path }, title);

export function firstCall({ plain }: Examples): readonly Child[] {
  const base = [paragraph("All addresses begin with"), copyable("Base address", BASE)];
  if (plain === null) return [...base, paragraph("With a key, the guide shows calls that the key may make.")];
  const rows = plain.columns.filter(({ example }) => example !== undefined && example !== null);
  const row = Object.fromEntries(rows.map(({ name, example }) => [name, example]));
  return [
    ...base,
    paragraph("This call of ", endpointLink(plain), " answers without a parameter:"),
    copyable("First call", curlOf(plain, plain.pagination ? { limit: ["5"] } : {})),
    rows.length > 0 && paragraph("A row looks like this:"),
    rows.length > 0 && copyable("A row", JSON.stringify(row, null, 2)),
    paragraph(
      "All endpoints stand in the ",
      el("a", { href: "explore" }, "explorer"),
      " and in ",
      el("a", { href: "openapi.json" }, "openapi.json"),
      ".",
    ),
  ];
}

export function authenticate({ about, endpoints, tier }: CatalogueBody): readonly Child[] {
  const lines = TIERS.map(
    (each) => [each, endpoints.filter((endpoint) => endpoint.tier === each).length] as const,
  )
    .filter(([, number]) => number > 0)
    .map(([each, number]) =>
      el(
        "tr",
        el("th", { scope: "row" }, `${TIER_NAMES[each]} (${each})`),
        el("td", number.toLocaleString("en")),
      ),
    );
  return [
    paragraph(
      "Public endpoints need no key. For the others send a key in the header ",
      code("X-API-Key"),
      ", or as ",
      code("Authorization: Bearer"),
      ". A key opens its tier and the tiers below. Keep it out of addresses and of code that others read.",
    ),
    about.contact !== null &&
      paragraph(
        "Ask for a key: ",
        el("a", { href: about.contact }, about.contact.replace(/^mailto:/, "")),
        ".",
      ),
    about.terms_of_service !== null &&
      paragraph(el("a", { href: about.terms_of_service }, "Terms of service")),
    copyable("With a key", `export API_KEY=...\ncurl -H "X-API-Key: $API_KEY" '${BASE}/v1/system/usage'`),
    table("Endpoints by tier", ["Tier", "Endpoints"], lines),
    paragraph(`This tab calls as ${TIER_NAMES[tier]} (${tier}).`),
  ];
}

export function filter({ filtered }: Examples): readonly Child[] {
  const parameters = filtered === null ? null : filterOf(filtered);
  if (filtered === null || parameters === null)
    return [paragraph("The endpoints that this tab may call have no filters.")];
  const names = (filtered.parameters ?? []).map(({ name, column, operator, description }) =>
    el("tr", el("th", { scope: "row" }, name), el("td", `${column} ${operator}`), el("td", description)),
  );
  const [column = ""] = (filtered.parameters ?? []).map((each) => each.column);
  return [
    paragraph(
      "Parameters select rows; several select those that match all of them. ",
      endpointLink(filtered),
      " by one of its own:",
    ),
    copyable("A filter", curlOf(filtered, parameters)),
    names.length > 0 && table("Parameters", ["Parameter", "Compares", "What it means"], names),
    (filtered.filters ?? []).length > 0 &&
      paragraph(
        "Its columns ",
        (filtered.filters ?? []).map((each) => each.column).join(", "),
        " compare by operator too, such as ",
        code("column[gte]=10"),
        ".",
      ),
    filtered.require_any_of.length === 0 &&
      column !== "" &&
      paragraph("The values that a column has, the most frequent first:"),
    filtered.require_any_of.length === 0 &&
      column !== "" &&
      copyable(
        "Values",
        `curl '${BASE}/v1/system/values?path=${encodeURIComponent(filtered.path)}&column=${encodeURIComponent(column)}'`,
      ),
  ];
}

export function pages({ paged }: Examples): readonly Child[] {
  if (paged === null) return [paragraph("No endpoint has pages: each answers with all of its rows.")];
  const most = (paged.pagination?.max_limit ?? 0).toLocaleString("en");
  return [
    paragraph(
      "An endpoint with pages takes ",
      code("limit"),
      " (",
      endpointLink(paged),
      `: at most ${most}`,
      "). While there are more rows, the header ",
      code("Link"),
      " has the address of the next page, with ",
      code('rel="next"'),
      ". Follow it to the end:",
    ),
    copyable("All pages in Python", allPagesPython(paged)),
    copyable("All pages in JavaScript", allPagesScript(paged)),
    paragraph(
      code("Prefer: count=exact"),
      " adds ",
      code("X-Total-Count"),
      ", the number of rows on all pages.",
    ),
  ];
}

const FORMATS = [
  [".json", "JSON; numbers of many digits are exact"],
  [".csv", "CSV with a header, for spreadsheets"],
  [".ndjson", "one JSON object a line, for streams"],
  [".parquet", "Parquet, for DuckDB, polars and pandas"],
  [".arrow", "Arrow, for data frames"],
  [".arrows", "Arrow as a stream: readers take batch after batch"],
] as const;

export function formats({ plain }: Examples): readonly Child[] {
  const lines = FORMATS.map(([suffix, about]) =>
    el("tr", el("th", { scope: "row" }, suffix), el("td", about)),
  );
  return [
    paragraph("A suffix of the path chooses the format; so does the header ", code("Accept"), "."),
    table("Formats", ["Suffix", "Format"], lines),
    plain !== null && copyable("As CSV", curlOf({ ...plain, path: `${plain.path}.csv` })),
    plain !== null &&
      copyable(
        "As a stream",
        curlOf({ ...plain, path: `${plain.path}.arrows` }).replace("curl ", "curl -N -o rows.arrows "),
      ),
  ];
}

export function tools({ plain, paged }: Examples): readonly Child[] {
  if (plain === null)
    return [paragraph("Enter a key in the explorer: the guide then shows calls that the key may make.")];
  const parquet = `${BASE}${plain.path}.parquet`;
  return [
    el("h3", "Excel"),
    paragraph(
      "Data, From Web, and this address; with a key choose Advanced and add the header ",
      code("X-API-Key"),
      ". Refresh reads the rows again.",
    ),
    copyable("For Excel", `${BASE}${plain.path}.csv`),
    el("h3", "Power BI"),
    paragraph(
      "Get data, Web, and the same address. The explorer has the request of each endpoint as Power Query (Excel, Power BI), which reads all pages: paste it into the Advanced Editor.",
    ),
    el("h3", "pandas"),
    copyable("pandas", pandasOf(plain)),
    plain.tier === "tier0" && el("h3", "DuckDB"),
    plain.tier === "tier0" &&
      copyable("DuckDB", `SELECT * FROM read_parquet('${parquet.replaceAll("'", "''")}')`),
    el("h3", "dlt"),
    paragraph(
      "dlt reads all pages by the header ",
      code("Link"),
      " and loads them into a warehouse (",
      code('pip install "dlt[duckdb]"'),
      "):",
    ),
    copyable("dlt", dltOf(paged ?? plain)),
    el("h3", "Singer"),
    paragraph(
      "A tap is a program that prints messages, which any target takes (",
      code("python tap.py | target-…"),
      "):",
    ),
    copyable("A Singer tap", singerOf(plain)),
  ];
}
