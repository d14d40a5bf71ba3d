/** What holds for all calls: freshness, limits, errors, deprecations, clients. */
import type { CatalogueBody } from "../catalogue-body.js";
import { BASE, type GuideFacts } from "../explorer/api.js";
import { type Child, copyable, el, time } from "../explorer/dom.js";
import { curlOf, type Examples } from "./examples.js";
import { code, paragraph, table } from "./parts.js";

export function freshness({ plain }: Examples, { endpoints }: CatalogueBody): readonly Child[] {
  const asOf = plain?.data_as_of ?? null;
  const promised = endpoints.filter((endpoint) => endpoint.freshness !== undefined);
  return [
    paragraph(
      "The header ",
      code("X-Data-As-Of"),
      " says when the data were built, where that is known. ",
      asOf !== null && "Of this guide's example that was ",
      asOf !== null && time(asOf),
      asOf !== null && ".",
    ),
    ...(promised.length === 0 ? [] : promises(promised)),
    ...qualities(endpoints.filter(({ quality }) => quality !== undefined)),
    constraints(endpoints),
    paragraph(
      "Each response has an ",
      code("ETag"),
      ". Send it back in ",
      code("If-None-Match"),
      ": while the rows are the same, the answer is an empty 304.",
    ),
    plain !== null &&
      copyable(
        "Only when it has changed",
        curlOf(plain).replace("curl ", "curl --etag-save rows.etag --etag-compare rows.etag "),
      ),
  ];
}

/** Contracts and constraints, where there are any. */
function constraints(endpoints: CatalogueBody["endpoints"]): Child {
  const lines = endpoints.flatMap(({ path, enforced }) =>
    enforced === undefined ? [] : [el("tr", el("th", { scope: "row" }, path), el("td", enforced.join(", ")))],
  );
  return (
    lines.length > 0 && table("Enforced when rows are built", ["Path", "Contract and constraints"], lines)
  );
}

/** What dbt's tests say of the rows, where there are any. */
function qualities(tested: CatalogueBody["endpoints"]): readonly Child[] {
  if (tested.length === 0) return [];
  const lines = tested.map(({ path, quality = "", tests, on_failed_test }) => {
    const { completed_at = null } = tests ?? {};
    const refused = on_failed_test === "refuse" ? "refused while a test fails" : "served";
    const ran = completed_at === null ? "never" : time(completed_at);
    return el(
      "tr",
      el("th", { scope: "row" }, path),
      ...[quality, ran, refused].map((cell) => el("td", cell)),
    );
  });
  return [
    paragraph(
      "The header ",
      code("X-Data-Quality"),
      " says what the team's tests say of the rows: ",
      code("passed"),
      ", ",
      code("failed;failed=2"),
      ", or ",
      code("unknown"),
      " where one has not run since the rows were built.",
    ),
    table("Tested", ["Path", "Tests", "Last run", "Rows are"], lines),
  ];
}

const refusable = (endpoints: CatalogueBody["endpoints"]): Child =>
  endpoints.some(({ require_fresh }) => require_fresh === true) &&
  el(
    "span",
    " Where an endpoint has it, ",
    code("?require_fresh=true"),
    " gives a 503 in place of rows that are older.",
  );

/** How old rows may be, where that is promised. */
function promises(promised: CatalogueBody["endpoints"]): readonly Child[] {
  const lines = promised.map(({ path, freshness: { promise, due } = { promise: "", due: null } }) =>
    el(
      "tr",
      el("th", { scope: "row" }, path),
      el("td", promise),
      el("td", due === null ? "not known" : time(due)),
    ),
  );
  return [
    paragraph(
      "Of some endpoints it is promised how old the rows may be. The header ",
      code("X-Data-Freshness"),
      " says ",
      code("ok"),
      ", or ",
      code("error"),
      " once they are older, and until when: ",
      code('ok;due="2026-11-30T05:00:00.000Z"'),
      ".",
      refusable(promised),
    ),
    table("Promised", ["Path", "Rows are fresh", "Next build by"], lines),
  ];
}

export function limitsPart(limits: GuideFacts["limits"]): readonly Child[] {
  const own =
    limits === null ? "" : `This tab may send ${limits.limit.toLocaleString("en")} requests in 60 seconds. `;
  return [
    paragraph(
      own,
      "Every response has ",
      code("X-RateLimit-Limit"),
      ", ",
      code("X-RateLimit-Remaining"),
      " and ",
      code("X-RateLimit-Reset"),
      " (seconds since 1970), and the same in the standard headers ",
      code("RateLimit"),
      " (left, and seconds until the window ends) and ",
      code("RateLimit-Policy"),
      ". A request above the limit is a 429: wait for the seconds in ",
      code("Retry-After"),
      ", then send it again.",
    ),
    paragraph("To read much, ask for large pages or a whole file rather than for many small pages."),
  ];
}

const REMEDIES = [
  ["400", "A parameter is wrong: its text names it.", "Correct the request."],
  ["401", "The token has expired or is not accepted.", "Get another one."],
  [
    "403",
    "The key is missing, unknown, or may not call this path.",
    "Check the header, or ask for a key of the tier that the text names.",
  ],
  ["404", "There is no such path.", "Look for it in the explorer; former paths are named there."],
  ["410", "The endpoint has ended.", "Use the one that the text and the header Link name."],
  ["405", "The path does not take this method.", "Use one of the header Allow."],
  ["413", "The body is too large.", "Send fewer values, or several requests."],
  ["429", "Too many requests.", "Wait for the seconds in Retry-After."],
  ["500", "The query failed.", "Report it with the header X-Request-Id."],
  ["503", "The service is busy, or its database cannot be reached.", "Wait for the seconds in Retry-After."],
] as const;

export function errors(): readonly Child[] {
  const lines = REMEDIES.map(([status, meaning, remedy]) =>
    el("tr", el("th", { scope: "row" }, status), el("td", meaning), el("td", remedy)),
  );
  return [
    paragraph("An error is a JSON object whose ", code("detail"), " says what is wrong:"),
    copyable("An error", `curl '${BASE}/v1/nothing'\n# {"detail":"Not Found"}`),
    paragraph(
      "With ",
      code("Accept: application/problem+json"),
      " it is problem details (RFC 9457), with a ",
      code("type"),
      " for each error.",
    ),
    table("Errors", ["Status", "Means", "Do"], lines),
  ];
}

export function changes(): readonly Child[] {
  return [
    paragraph("A feed says what has changed for consumers, in Atom for feed readers, and as JSON:"),
    copyable("Changes as a feed", `curl '${BASE}/v1/system/changelog.atom'`),
    copyable("Changes as JSON", `curl '${BASE}/v1/system/changelog'`),
    paragraph(
      "Each entry is a day, with ",
      code("breaking"),
      ", ",
      code("warning"),
      " or ",
      code("compatible"),
      " before each change. The first page and the page of an endpoint in the explorer show the same.",
    ),
  ];
}

/** The chart of an endpoint in another page. */
export function embedding({ endpoints }: CatalogueBody, { plain }: Examples): readonly Child[] {
  const open = endpoints.filter(
    (each) => each.callable && each.tier === "tier0" && each.require_any_of.length === 0,
  );
  const charted = open.find(({ sort }) => sort[0]?.[1] === "DESC") ?? plain;
  if (charted?.tier !== "tier0") return [paragraph("Only charts of public endpoints stand in other pages.")];
  const address = `${BASE}/explore/embed?endpoint=${encodeURIComponent(charted.path)}&theme=auto`;
  return [
    paragraph(
      "The chart of a public endpoint stands in any page. It draws the latest data, is as wide as its place and names its source; ",
      code("theme"),
      " is ",
      code("light"),
      ", ",
      code("dark"),
      " or ",
      code("auto"),
      ", and ",
      code("title"),
      " replaces the title. The button Embed below a chart in the explorer copies the lines for what it shows.",
    ),
    copyable(
      "An embedded chart",
      `<iframe src="${address.replaceAll("&", "&amp;")}" title="Chart" width="100%" height="440" loading="lazy"></iframe>`,
    ),
  ];
}

export function deprecations({ endpoints }: CatalogueBody): readonly Child[] {
  const old = endpoints.flatMap((endpoint) => [
    ...(endpoint.deprecation_date === null && endpoint.successor === null ? [] : [deprecated(endpoint)]),
    ...(endpoint.former_paths ?? []).map(({ path, sunset }) =>
      deprecated({ path, deprecation_date: sunset, successor: endpoint.path }),
    ),
  ]);
  return [
    paragraph(
      "An endpoint that will go has the header ",
      code("Deprecation"),
      ", the day in ",
      code("Sunset"),
      ", and what replaces it in ",
      code("Link"),
      " with ",
      code('rel="successor-version"'),
      ". Let your client log these.",
    ),
    old.length === 0
      ? paragraph("Nothing is deprecated now.")
      : table("Deprecated", ["Path", "May be removed", "Use instead", "What changes there"], old),
    versions(endpoints),
    paragraph(
      "What has changed stands in ",
      el("a", { href: "v1/system/changelog" }, "/v1/system/changelog"),
      ".",
    ),
  ];
}

type Old = Pick<CatalogueBody["endpoints"][number], "path" | "deprecation_date" | "successor"> &
  Partial<Pick<CatalogueBody["endpoints"][number], "gone_at" | "successor_changes">>;

function deprecated({
  path,
  deprecation_date: until,
  gone_at: end,
  successor,
  successor_changes: changes,
}: Old): HTMLElement {
  const ends = end === undefined ? [] : [", answers 410 from ", time(end)];
  return el(
    "tr",
    el("th", { scope: "row" }, path),
    el("td", until === null ? "not said" : time(until), ...ends),
    el("td", successor ?? "nothing"),
    el("td", changes === undefined ? (successor === null ? "" : "nothing") : changes.join("; ")),
  );
}

/** Where callers of the path without a version can stay. */
function versions(endpoints: CatalogueBody["endpoints"]): Child {
  const pinned = endpoints.find(({ version_path: path }) => path !== undefined);
  return (
    pinned !== undefined &&
    paragraph(
      "A path without a version, such as ",
      code(pinned.path),
      ", serves the latest one. ",
      code(pinned.version_path ?? ""),
      " stays at this version when another becomes the latest.",
    )
  );
}

export function clients(): readonly Child[] {
  return [
    paragraph(
      "The OpenAPI document describes every parameter and column, so that a compiler checks your calls.",
    ),
    copyable("TypeScript", `npx openapi-typescript ${BASE}/openapi.json -o api.d.ts`),
    copyable("Python", `openapi-python-client generate --url ${BASE}/openapi.json`),
  ];
}

export function assistants(): readonly Child[] {
  return [
    paragraph(
      "An assistant that speaks MCP (Streamable HTTP) finds and reads endpoints by itself at this address:",
    ),
    copyable("MCP", `${BASE}/mcp`),
    paragraph(
      "For others ",
      el("a", { href: "llms.txt" }, "llms.txt"),
      " lists the endpoints with their meaning.",
    ),
  ];
}
