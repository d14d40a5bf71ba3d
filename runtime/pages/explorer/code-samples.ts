import { addressOf, BASE } from "./api.js";
import { type ApiRequest } from "./api-request.js";
import { wholeOf } from "./downloads.js";

export const LANGUAGES = [
  ...["curl", "Python", "pandas", "polars", "JavaScript", "TypeScript", "R", "DuckDB", "Power Query"],
] as const;
export type Language = (typeof LANGUAGES)[number];

/** What a sample is made from. */
interface SampleCall {
  readonly request: ApiRequest;
  /** Whether it needs a key: a placeholder stands for it, since copied text may be shared. */
  readonly hasKey: boolean;
  /** Whether pages follow: all are read where the request has no limit of its own. */
  readonly isPaged: boolean;
  readonly isEnvelope: boolean;
}

/** The request as code, for copying. Where the request has no limit of its own, it reads every page. */
export function sampleOf(request: ApiRequest, language: Language, hasKey: boolean): string {
  const { pagination } = request.endpoint;
  const isPaged = pagination !== null && !Object.hasOwn(request.parameters, "limit");
  const isEnvelope = pagination?.response === "envelope";
  return SAMPLES[language]({ request, hasKey, isPaged, isEnvelope });
}

/** The address, of the largest page where all are read. */
function urlOf({ request, isPaged }: SampleCall, format = ""): string {
  return BASE + addressOf(isPaged ? { ...request, parameters: wholeOf(request) } : request, format);
}

const quoted = (text: string): string => JSON.stringify(text);
const inShell = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
const itemsOf = ({ isEnvelope }: SampleCall): string => (isEnvelope ? '["items"]' : "");

const SAMPLES: Readonly<Record<Language, (call: SampleCall) => string>> = {
  curl: (call) => (call.isPaged ? curlPages(call) : `curl -fsS ${curlKey(call)}${inShell(urlOf(call))}`),
  Python: python,
  pandas: (call) => frames(call, "pandas"),
  polars: (call) => frames(call, "polars"),
  JavaScript: (call) => script(call, false),
  TypeScript: (call) => script(call, true),
  R: r,
  DuckDB: duckdb,
  "Power Query": powerQuery,
};

const curlKey = ({ hasKey }: SampleCall): string => (hasKey ? '-H "X-API-Key: $API_KEY" ' : "");

/** Rows of all pages, one on each line. */
function curlPages(call: SampleCall): string {
  return String.raw`# All pages, a row of JSON on each line
url=${inShell(urlOf(call, ".ndjson"))}
while [ -n "$url" ]; do
  curl -fsS ${curlKey(call)}-D page.headers "$url" || break
  next=$(tr -d '\r' < page.headers | sed -n 's/^[Ll]ink: <\(.*\)>; rel="next"$/\1/p')
  if [ -n "$next" ]; then url=${inShell(new URL(BASE).origin)}"$next"; else url=; fi
done > rows.ndjson`;
}

function python(call: SampleCall): string {
  const imports = `${call.hasKey ? "import os\n" : ""}${call.isPaged ? "from urllib.parse import urljoin\n" : ""}import requests\n`;
  const session = `session = requests.Session()\n${call.hasKey ? 'session.headers["X-API-Key"] = os.environ["API_KEY"]\n' : ""}`;
  if (!call.isPaged)
    return `${imports}
${session}response = session.get(${quoted(urlOf(call))}, timeout=30)
response.raise_for_status()
rows = response.json()${itemsOf(call)}`;
  return `${imports}
${session}
rows = []
url = ${quoted(urlOf(call))}
while url:
    response = session.get(url, timeout=30)
    response.raise_for_status()
    rows += response.json()${itemsOf(call)}
    url = response.links.get("next", {}).get("url")
    url = url and urljoin(response.url, url)`;
}

/** Data frames: pandas of CSV, polars of Parquet, whose types are those of the database. */
function frames(call: SampleCall, library: "pandas" | "polars"): string {
  const isPandas = library === "pandas";
  const [short, suffix] = isPandas ? ["pd", ".csv"] : ["pl", ".parquet"];
  const read = isPandas
    ? "pd.read_csv(io.BytesIO(response.content))"
    : "pl.read_parquet(io.BytesIO(response.content))";
  const whole = isPandas ? "pd.concat(pages, ignore_index=True)" : "pl.concat(pages)";
  const head = `import io
${call.hasKey ? "import os\n" : ""}${call.isPaged ? "from urllib.parse import urljoin\n" : ""}import ${library} as ${short}
import requests

session = requests.Session()
${call.hasKey ? 'session.headers["X-API-Key"] = os.environ["API_KEY"]\n' : ""}`;
  if (!call.isPaged)
    return `${head}response = session.get(${quoted(urlOf(call, suffix))}, timeout=30)
response.raise_for_status()
rows = ${read}`;
  return `${head}
pages = []
url = ${quoted(urlOf(call, suffix))}
while url:
    response = session.get(url, timeout=30)
    response.raise_for_status()
    pages.append(${read})
    url = response.links.get("next", {}).get("url")
    url = url and urljoin(response.url, url)
rows = ${whole}`;
}

function script(call: SampleCall, isTyped: boolean): string {
  const { hasKey, isEnvelope, isPaged } = call;
  const type = isTyped ? `${rowType(call.request)}\n\n` : "";
  const body = "await response.json()";
  const items = isEnvelope
    ? `(${isTyped ? `(${body}) as { items: Row[] }` : body}).items`
    : isTyped
      ? `(${body}) as Row[]`
      : body;
  const options = hasKey
    ? `, { headers: { "X-API-Key": process.env.API_KEY${isTyped ? ' ?? ""' : ""} } }`
    : "";
  const failed = `if (!response.ok) throw new Error(await response.text());`;
  if (!isPaged)
    return `${type}const response = await fetch(${quoted(urlOf(call))}${options});
${failed}
const rows${isTyped ? ": Row[]" : ""} = ${items};`;
  return `${type}const rows${isTyped ? ": Row[]" : ""} = [];
let url${isTyped ? ": string | undefined" : ""} = ${quoted(urlOf(call))};
while (url) {
  const response${isTyped ? ": Response" : ""} = await fetch(url${options});
  ${failed}
  rows.push(...(${items}));
  const next = /<([^>]*)>; rel="next"/.exec(response.headers.get("link") ?? "")?.[1];
  url = next && new URL(next, response.url).href;
}`;
}

function rowType({ endpoint }: ApiRequest): string {
  const members = endpoint.columns.map(({ name, type }) => {
    const isName = /^[A-Za-z_$][\w$]*$/.test(name);
    return `  ${isName ? name : quoted(name)}: ${typeScriptOf(type)};`;
  });
  return members.length === 0
    ? "type Row = Record<string, unknown>;"
    : `interface Row {\n${members.join("\n")}\n}`;
}

function typeScriptOf(type: string | null): string {
  if (type === null || /\[\]|array|map|tuple|json/i.test(type)) return "unknown";
  const plain = /bool/i.test(type)
    ? "boolean"
    : /(^|\()(u?int|float|double|decimal|numeric|real|smallint|bigint|money)/i.test(type)
      ? "number"
      : "string";
  return / null$|nullable/i.test(type) ? `${plain} | null` : plain;
}

function r(call: SampleCall): string {
  const head = `library(httr2)
library(jsonlite)

request <- request(${quoted(urlOf(call))})${call.hasKey ? ' |>\n  req_headers("X-API-Key" = Sys.getenv("API_KEY"))' : ""}
rows_of <- function(response) fromJSON(resp_body_string(response))${call.isEnvelope ? "$items" : ""}
`;
  if (!call.isPaged) return `${head}rows <- rows_of(req_perform(request))`;
  return `${head}
pages <- list()
while (!is.null(request)) {
  response <- req_perform(request)
  pages[[length(pages) + 1]] <- rows_of(response)
  links <- unlist(resp_headers(response)[names(resp_headers(response)) == "link"])
  following <- regmatches(links, regexpr('(?<=<)[^>]*(?=>; rel="next")', links, perl = TRUE))
  request <- if (length(following) > 0) req_url(request, paste0(${quoted(new URL(BASE).origin)}, following[[1]]))
}
rows <- do.call(rbind, pages)`;
}

/** One request is read by its address; pages are put into one file first, since SQL follows no links. */
function duckdb(call: SampleCall): string {
  if (call.isPaged)
    return `${curlPages(call)}

duckdb -c "SELECT * FROM read_ndjson('rows.ndjson')"`;
  const secret = call.hasKey
    ? "CREATE SECRET (TYPE http, EXTRA_HTTP_HEADERS MAP {'X-API-Key': 'your key'});\n"
    : "";
  return `INSTALL httpfs;
LOAD httpfs;
${secret}SELECT * FROM read_parquet('${urlOf(call, ".parquet").replaceAll("'", "''")}');`;
}

/** For Excel and Power BI. */
function powerQuery(call: SampleCall): string {
  const inM = (text: string): string => `"${text.replaceAll('"', '""')}"`;
  const headers = call.hasKey ? ', [Headers = [#"X-API-Key" = Key]]' : "";
  const key = call.hasKey ? '  Key = "your key",\n' : "";
  const csv =
    'Table.PromoteHeaders(Csv.Document(Response, [Delimiter = ",", Encoding = 65001, QuoteStyle = QuoteStyle.Csv]))';
  const where =
    "// Excel and Power BI: Data, Get Data, Blank Query, Advanced Editor. Choose anonymous access.\n";
  if (!call.isPaged)
    return `${where}let
${key}  Response = Web.Contents(${inM(urlOf(call, ".csv"))}${headers}),
  Rows = ${csv}
in
  Rows`;
  return `${where}let
${key}  Page = (url as text) =>
    let
      Response = Web.Contents(url${headers}),
      Links = Record.FieldOrDefault(Value.Metadata(Response)[Headers], "Link", ""),
      Next = if Text.Contains(Links, "rel=""next""")
        then Text.AfterDelimiter(Text.BeforeDelimiter(Links, ">; rel=""next"""), "<", {0, RelativePosition.FromEnd})
        else null
    in
      [Rows = ${csv}, Next = Next],
  Pages = List.Generate(
    () => Page(${inM(urlOf(call, ".csv"))}),
    each _ <> null,
    each if [Next] = null then null else Page(${inM(new URL(BASE).origin)} & [Next]),
    each [Rows]
  ),
  Rows = Table.Combine(Pages)
in
  Rows`;
}
