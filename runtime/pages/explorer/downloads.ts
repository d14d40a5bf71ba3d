import { BASE, nextOf, readText, sendRequest, ServiceError } from "./api.js";
import { type ApiRequest, nextPage, type Parameters, withoutPage } from "./api-request.js";
import { button, count, el, popover } from "./dom.js";

/** Pages that one download fetches at most: each counts as a request. */
const MAX_PAGES = 100;

/** A file of the whole result, whose pages follow each other. */
interface FileFormat {
  readonly name: string;
  readonly about: string;
  readonly suffix: string;
  readonly type: string;
  /** Before the first page and after the last. */
  readonly around: readonly [before: string, after: string];
  /** A page behind those before it. */
  readonly join: (text: string, isFirst: boolean) => string;
  readonly rowsIn: (text: string) => number;
}

/** Lines of a text with a header; quoted values may hold line breaks. */
const csvRows = (text: string): number => text.replace(/"[^"]*"/g, "").split("\r\n").length - 2;
const linesOf = (text: string): readonly string[] => text.split("\n").filter((line) => line !== "");

const FORMATS: readonly FileFormat[] = [
  {
    name: "CSV",
    about: "for Excel, Numbers and pandas",
    suffix: ".csv",
    type: "text/csv",
    // Excel reads UTF-8 with a byte order mark only.
    around: ["\ufeff", ""],
    join: (text, isFirst) => (isFirst ? text : text.slice(text.indexOf("\r\n") + 2)),
    rowsIn: csvRows,
  },
  {
    name: "JSON",
    about: "one list of all rows",
    suffix: ".ndjson",
    type: "application/json",
    around: ["[\n", "\n]\n"],
    join: (text, isFirst) => {
      const rows = linesOf(text).join(",\n");
      return isFirst || rows === "" ? rows : `,\n${rows}`;
    },
    rowsIn: (text) => linesOf(text).length,
  },
];

/** The button that downloads all rows of a request, and its progress. `totalOf`: how many there are, where that is known. */
export function downloadMenu(
  request: ApiRequest,
  totalOf: () => number | null,
  fail: (error: unknown) => void,
): HTMLElement {
  const place = el("div.download");
  const offer = (): void => place.replaceChildren(menu);
  const begin = (close: () => void, run: (progress: DownloadProgress) => Promise<void>): void => {
    close();
    const progress = new DownloadProgress(totalOf(), offer);
    place.replaceChildren(progress.element);
    void run(progress)
      .catch((error: unknown) => progress.signal.aborted || fail(error))
      .finally(() => place.isConnected && offer());
  };
  const menu = popover("Download", "Download all rows", "", (close) => [
    el("h3", "All rows of the result"),
    el(
      "div.values",
      ...FORMATS.map((format) =>
        item(format, () => begin(close, (progress) => textFile(request, format, progress))),
      ),
      item(PARQUET, () => begin(close, (progress) => parquetFile(request, progress))),
    ),
    ...(request.endpoint.aggregate?.rows === false ? [] : connections(request)),
  ]);
  offer();
  return place;
}

/** Files with which programs ask for the rows of the endpoint themselves, by OData; the reader gives them the key. */
function connections({ endpoint }: ApiRequest): readonly HTMLElement[] {
  const links = [
    { name: "Open in Excel", ending: "odc" },
    { name: "Open in Power BI", ending: "pbids" },
  ].map(({ name, ending }) => {
    const href = `${BASE}/odata/connection.${ending}?path=${encodeURIComponent(endpoint.path)}`;
    return el("a", { href, download: "" }, el("span.text", name), el("span.rows-of", `a .${ending} file`));
  });
  return [el("h3", "All rows, refreshed by the program"), el("div.values", ...links)];
}

const PARQUET = { name: "Parquet", about: "for DuckDB, polars and pandas" };

function item({ name, about }: Pick<FileFormat, "name" | "about">, click: () => void): HTMLElement {
  const made = button("", click, { "aria-label": `Download ${name}` });
  made.append(el("span.text", name), el("span.rows-of", about));
  return made;
}

/** How far a download is, and a button that ends it. */
class DownloadProgress {
  readonly element: HTMLElement;
  readonly #total: number | null;
  readonly #bar: HTMLProgressElement;
  readonly #text = el("span", "Downloading …");
  readonly #controller = new AbortController();

  constructor(total: number | null, cancelled: () => void) {
    this.#total = total;
    this.#bar = el("progress", {
      "aria-label": "Download",
      max: Math.max(1, total ?? 1),
      value: total === null ? null : 0,
    });
    const cancel = button("Cancel", () => {
      this.#controller.abort();
      cancelled();
    });
    this.element = el("div.progress", { role: "status" }, this.#bar, this.#text, cancel);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  show(rows: number, bytes: number): void {
    const of = this.#total === null ? "" : ` of ${this.#total.toLocaleString("en")}`;
    if (this.#total !== null) this.#bar.value = Math.min(rows, this.#total);
    this.#text.textContent = `${rows.toLocaleString("en")}${of} rows, ${(bytes / 1e6).toFixed(1)} MB`;
  }
}

/** The parameters of the first and largest page. */
export function wholeOf({ endpoint, parameters }: ApiRequest): Parameters {
  const limit = endpoint.pagination?.max_limit;
  const filters = withoutPage(parameters);
  return limit === undefined ? filters : { ...filters, limit: [String(limit)] };
}

/** The name of a file that had to stop before the last page says how many rows it holds. */
async function textFile(request: ApiRequest, format: FileFormat, progress: DownloadProgress): Promise<void> {
  const [before, after] = format.around;
  const texts = [before];
  let parameters = wholeOf(request);
  let [read, rows, hasNext] = [0, 0, true];
  for (let page = 0; hasNext && page < MAX_PAGES; page++) {
    const response = await sendRequest({ ...request, parameters }, format.suffix, progress.signal);
    let text = "";
    await readText(response, (piece) => {
      text += piece;
      progress.show(rows, read + text.length);
      return true;
    });
    read += text.length;
    const onPage = format.rowsIn(text);
    texts.push(format.join(text, page === 0));
    const next = nextOf(response);
    hasNext = next.hasNext;
    rows += onPage;
    progress.show(rows, read);
    parameters = nextPage(parameters, next.cursor, onPage);
  }
  const extension = format.type === "application/json" ? "json" : "csv";
  const part = hasNext ? `-first-${String(rows)}-rows` : "";
  save(new Blob([...texts, after], { type: format.type }), `${nameOf(request)}${part}.${extension}`);
}

/** One page: files of this format cannot be put behind each other. */
async function parquetFile(request: ApiRequest, progress: DownloadProgress): Promise<void> {
  const response = await sendRequest(
    { ...request, parameters: wholeOf(request) },
    ".parquet",
    progress.signal,
  );
  if (nextOf(response).hasNext) {
    void response.body?.cancel();
    const most = count(request.endpoint.pagination?.max_limit ?? 0, "row");
    throw new ServiceError(0, `A Parquet file has one page, at most ${most}. Filter, or download CSV.`);
  }
  save(await response.blob(), `${nameOf(request)}.parquet`);
}

const nameOf = ({ endpoint }: ApiRequest): string => endpoint.path.slice(4).replaceAll("/", "-");

/** Hands a file to the browser. */
export function save(file: Blob, name: string): void {
  const address = URL.createObjectURL(file);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
