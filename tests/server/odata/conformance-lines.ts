import { sendRequest } from "../../support/http-client.js";
import { KEYS } from "../../support/service.js";
import { ask, idsIn, read, url } from "./orders-by-odata.js";

/** A line of OData 4.01, part 1, 13, as the page has it (runtime/docs/odata.md). Lines of services that write, and of asynchronous requests, are left out. */
export interface Line {
  /** Level and number. */
  readonly at: string;
  readonly text: string;
  readonly verdict: string;
  /** What shows the verdict; none where nothing of the service could. */
  readonly shown?: () => Promise<void>;
}

const line = (at: string, text: string, verdict: string, shown?: Line["shown"]): Line => ({
  ...{ at, text, verdict },
  ...(shown && { shown }),
});

function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

const key = { key: KEYS.tier3 };
const withHeaders = (headers: Record<string, string>) => ({ ...key, headers });

/** The status of a request, and no other. */
async function answers(path: string, status: number, headers: Record<string, string> = {}): Promise<void> {
  const reply = await ask(path, withHeaders(headers));
  must(
    reply.status === status,
    `${path}: ${String(reply.status)} instead of ${String(status)}: ${reply.text}`,
  );
}

const hasStatus =
  (status: number, ...paths: readonly string[]) =>
  async (): Promise<void> => {
    for (const path of paths) await answers(path, status);
  };

/** The ids of the rows of a query. */
const hasRows =
  (...queries: readonly (readonly [string, readonly number[]])[]) =>
  async (): Promise<void> => {
    for (const [query, ids] of queries) {
      const found = JSON.stringify(idsIn(await read(`/shop__orders?${query}`)));
      must(found === JSON.stringify(ids), `${query}: ${found}`);
    }
  };

const metadata = async (format: "xml" | "json"): Promise<string> =>
  (await ask(`/$metadata?$format=${format}`)).text;

async function saysInMetadata(text: string): Promise<void> {
  must((await metadata("xml")).includes(text), `$metadata has no ${text}`);
}

export const LINES: readonly Line[] = [
  line("4.0 minimal 1", "a service document", "yes", async () => {
    const { value } = await read("/");
    must(
      (value as readonly { name: string }[]).some(({ name }) => name === "shop__orders"),
      "no set",
    );
  }),
  line("2", "JSON", "yes", hasRows(["$top=1", [1]])),
  line("3", "server-driven pages alone", "yes", async () => {
    const first = await read("/shop__orders");
    const next = (first["@odata.nextLink"] as string).slice(url.length);
    const { text } = await sendRequest(url, next, key);
    const ids = [idsIn(first), idsIn(JSON.parse(text) as Record<string, unknown>)];
    must(JSON.stringify(ids) === "[[1,2,3],[4,5]]", JSON.stringify(ids));
  }),
  line("4", "`OData-Version`", "yes", async () => {
    for (const path of ["/", "/$metadata", "/shop__orders", "/nope"])
      must((await ask(path)).headers["odata-version"] === "4.01", path);
  }),
  line("5", "`Accept`, `OData-MaxVersion`", "yes; 406 and 400", async () => {
    await answers("/shop__orders", 406, { accept: "application/atom+xml" });
    await answers("/shop__orders", 400, { "odata-maxversion": "3.0" });
  }),
  line("6", "extensibility", "yes; unknown custom options are 400", hasStatus(400, "/shop__orders?custom=1")),
  line("7", "options are parsed or fail", "yes; 400 and 501", async () => {
    await answers("/shop__orders?$filter=(", 400);
    await answers("/shop__orders?$expand=x", 501);
  }),
  line("8", "types of CSDL alone", "yes", async () => {
    const types = [...(await metadata("xml")).matchAll(/<Property [^>]*Type="(?:Collection\()?([^")]+)/g)];
    must(types.length > 0 && types.every(([, type = ""]) => type.startsWith("Edm.")), "another type");
  }),
  line("9", "no annotation, header or content that clients must understand", "yes", async () => {
    const { text } = await ask(
      "/shop__orders?$format=application/json;odata.metadata=none&$top=1&$select=id",
    );
    must(text === '{"value":[{"id":1}]}', text);
  }),
  line("10", "semantics of updates", "nothing is written: 405", async () => {
    for (const method of ["POST", "PATCH", "PUT", "DELETE"]) {
      const { status } = await ask("/shop__orders", {
        ...key,
        method,
        ...(method === "POST" && { body: {} }),
      });
      must(status === 405, `${method}: ${String(status)}`);
    }
  }),
  line("12", "`$expand` (should)", "not offered: there are no navigation properties; 501", async () => {
    await answers("/shop__orders?$expand=*", 501);
    must(!(await metadata("xml")).includes("NavigationProperty "), "a navigation property");
    await saysInMetadata("Capabilities.ExpandRestrictions");
  }),
  line("13", "`$metadata` (should)", "yes", async () => {
    must((await metadata("xml")).startsWith("<?xml"), "no XML");
  }),
  line("14", "prefixed headers and preferences", "yes", async () => {
    const reply = await ask("/shop__orders", withHeaders({ prefer: "odata.maxpagesize=2" }));
    must(reply.headers["preference-applied"] === "odata.maxpagesize=2", "not applied");
  }),
  line(
    "15",
    "literals of enumerations and durations",
    "not offered: no property has these types",
    async () => {
      must(!/Type="Edm\.Duration"|<EnumType/.test(await metadata("xml")), "a property has");
    },
  ),
  line(
    "4.0 intermediate 2",
    "URLs are parsed or fail",
    "yes",
    hasStatus(404, "/shop__orders/1", "/shop__orders(1)/nope"),
  ),
  line("3", "`$select`", "yes; where the endpoint has no `fields`, rows have all columns", async () => {
    const { value } = await read("/shop__orders?$select=id&$top=1");
    must(JSON.stringify(value) === '[{"id":1}]', JSON.stringify(value));
  }),
  line("4", "casts to derived types", "not offered: there are no derived types", async () => {
    must(!(await metadata("xml")).includes("BaseType="), "a derived type");
  }),
  line("5", "`$top`", "yes", hasRows(["$top=2", [1, 2]], ["$top=0", []])),
  line("6", "`/$value` of a property", "yes, of a row by its key; there are no media entities", async () => {
    must((await ask("/shop__orders(4)/status/$value")).text === "paid", "another value");
  }),
  line("7.1", "`$filter` with `eq` and `ne`", "where the endpoint has `filter`; 501 elsewhere", async () => {
    await hasRows(["$filter=id eq 2", [2]], ["$filter=status ne 'paid'", [2, 3, 5]])();
    await answers("/shop__whole()?$filter=id eq 1", 501);
  }),
  line("7.2", "aliases in `$filter`", "yes", hasRows(["$filter=id eq @a&@a=2", [2]])),
  line("7.3", "other operators (should)", "those of `filter`; 501 for arithmetic and `has`", async () => {
    await hasRows(["$filter=id gt 1 and id le 3 or not (id lt 5)", [2, 3, 5]])();
    await hasStatus(501, "/shop__orders?$filter=id add 1 eq 2", "/shop__orders?$filter=id has 1")();
  }),
  line("7.4", "canonical functions (should)", "those of `filter`; 501 for the others", async () => {
    await hasRows(["$filter=contains(status,'ai') and year(day) eq 2024", [1]])();
    await hasStatus(501, "/shop__orders?$filter=length(status) eq 4", "/shop__orders?$filter=now() gt at")();
  }),
  line(
    "7.5",
    "`$filter` in `$expand` (should)",
    "not offered: 501",
    hasStatus(501, "/shop__orders?$expand=x($filter=id eq 1)"),
  ),
  line("10", "Basic authentication (should)", "yes; the password is the key", async () => {
    const { status, headers } = await ask("/shop__paid", {});
    must(status === 401 && String(headers["www-authenticate"]).startsWith("Basic"), String(status));
    const authorization = `Basic ${Buffer.from(`any:${KEYS.tier3}`).toString("base64")}`;
    must((await ask("/shop__paid", { headers: { authorization } })).status === 200, "no access");
  }),
  line("11", "`$search` (should)", "not offered: 501", hasStatus(501, "/shop__orders?$search=x")),
  line("12", "`$skip` (should)", "where the endpoint has pages; 501 elsewhere", async () => {
    await hasRows(["$skip=3", [4, 5]])();
    await answers("/shop__whole()?$skip=1", 501);
  }),
  line("13", "`$count` (should)", "yes", async () => {
    must((await read("/shop__orders?$count=true&$top=0"))["@odata.count"] === 5, "another count");
    must((await ask("/shop__orders/$count")).text === "5", "another count");
  }),
  line(
    "15",
    "`any` and `all` (should)",
    "not offered: 501",
    hasStatus(501, "/shop__orders?$filter=tags/any(t:t eq 'a')"),
  ),
  line(
    "16",
    "`/$count` of properties (should)",
    "not offered: 404",
    hasStatus(404, "/shop__orders(1)/tags/$count"),
  ),
  line("17", "`$orderby` (should)", "by sortable columns; 501 by others", async () => {
    await hasRows(["$orderby=day desc", [3, 2, 5]], ["$orderby=amount asc", [4, 5, 2]])();
    await answers("/shop__orders?$orderby=status", 501);
  }),
  line("4.01 minimal 2", "JSON of 4.01", "yes", async () => {
    const { headers } = await ask("/shop__orders");
    must(String(headers["content-type"]).includes("IEEE754Compatible="), "another format");
  }),
  line("4", "headers and preferences with and without prefix", "yes", async () => {
    for (const prefer of ["maxpagesize=2", "odata.maxpagesize=2"])
      must(
        (await ask("/shop__orders", withHeaders({ prefer }))).headers["preference-applied"] !== undefined,
        prefer,
      );
  }),
  line("5", "`$schemaversion`", "not offered: no `Core.SchemaVersion`; 501", async () => {
    await answers("/shop__orders?$schemaversion=1", 501);
    must(!(await metadata("xml")).includes("Core.SchemaVersion"), "a version");
  }),
  line(
    "6",
    "options with and without `$`",
    "yes",
    hasRows(["top=1", [1]], ["filter=id eq 2&select=id", [2]]),
  ),
  line(
    "7",
    "options, operators and functions in any letter case",
    "yes",
    hasRows(["$TOP=1", [1]], ["$Filter=id EQ 2 OR ENDSWITH(status,'eld')", [2, 5]]),
  ),
  line("8", "identifiers as in `$metadata`", "yes", async () => {
    const { value } = await read("/shop__orders?$top=1");
    const [row = {}] = value as readonly object[];
    const xml = await metadata("xml");
    must(
      Object.keys(row).every((name) => xml.includes(`<Property Name="${name}"`)),
      "another name",
    );
  }),
  line(
    "9.1",
    "strings cast to primitive types",
    "not offered: `cast` is 501",
    hasStatus(501, "/shop__orders?$filter=cast('1',Edm.Int32) eq id"),
  ),
  line("9.3", "functions without parentheses", "yes", hasStatus(200, "/shop__whole", "/shop__whole()")),
  line("9.6", "aliases of keys", "yes", async () => {
    for (const path of [
      "/shop__orders(@k)?@k=4",
      "/shop__orders(id=@k)?@k=4",
      "/shop__orders(@k)/status?@k=4",
    ])
      await answers(path, 200);
    await answers("/shop__orders(@k)?@k=1 or id eq 2", 400);
  }),
  line("9.9", "`in` (should)", "yes", hasRows(["$filter=id in (1,5)", [1, 5]])),
  line(
    "9.10",
    "`divby` (should)",
    "not offered: 501",
    hasStatus(501, "/shop__orders?$filter=id divby 2 eq 1"),
  ),
  line("10", "`$metadata` in XML and JSON (should)", "yes", async () => {
    must((await metadata("json")).startsWith("{"), "no JSON");
  }),
  line("11", "identifiers that differ by more than case (should)", "as the project names its columns"),
  line("12", "`Core.ODataVersions` (should)", "yes", () =>
    saysInMetadata('"Core.ODataVersions" String="4.0,4.01"'),
  ),
  line("13", "capabilities (should)", "yes", () => saysInMetadata("Capabilities.FilterRestrictions")),
  line(
    "15",
    "`$compute` (may)",
    "not offered: 501",
    hasStatus(501, "/shop__orders?$compute=id add 1 as next"),
  ),
  line(
    "4.01 intermediate 3",
    "`eq null` of navigation properties",
    "not offered: there are none",
    async () => {
      must(!(await metadata("xml")).includes("NavigationProperty "), "a navigation property");
    },
  ),
  line("4", "`in`", "yes", hasRows(["$filter=status in ('held','open')", [2, 5]])),
  line("5", "`$select` in `$select`", "not offered: no property has properties of its own", async () => {
    must(!/<Property [^>]*Type="[^"]*Rows\./.test(await metadata("xml")), "a property has");
    await answers("/shop__orders?$select=status($select=x)", 400);
  }),
  line(
    "6",
    "counts of collections in expressions (should)",
    "not offered: 501",
    hasStatus(501, "/shop__orders?$filter=tags/$count gt 1"),
  ),
  line(
    "11",
    "`/$filter` segments (may)",
    "not offered: 404",
    hasStatus(404, "/shop__orders/$filter(id eq 1)"),
  ),
];
