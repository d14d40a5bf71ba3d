import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { SHORT_JAVA } from "../../support/commands.js";
import { ownSchema } from "../../support/database.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { needs, programPath } from "../../support/needs.js";
import { KEYS, ownFolder, serveManifest } from "../../support/service.js";

/** More than two pages of the largest size. `ODATA_ROWS=100000 npx vitest run …` reads so many. */
const ROWS = Number(process.env["ODATA_ROWS"] ?? 25_000);
const schema = await ownSchema(
  `CREATE TABLE @.events AS SELECT g AS id, 'name ' || g % 97 AS name, (g * 1.01)::numeric(20,2) AS amount,
     timestamptz '2026-01-01 00:00Z' + g * interval '1 minute' AS at, g % 7 = 0 AS flag FROM generate_series(1, ${String(ROWS)}) g;
   ALTER TABLE @.events ADD PRIMARY KEY (id)`,
);
const url = await serveManifest(
  manifestOf([
    {
      ...{ name: "events", schema, key: "id" },
      tags: ["production", "shop", "api:events", "tier1"],
      columns: { id: "integer", name: "text", amount: "numeric(20,2)", at: "timestamptz", flag: "boolean" },
      api: {
        allow_unfiltered: true,
        pagination: { enabled: true, default_limit: 100, max_limit: 10_000 },
        sort: [{ column: "id", direction: "ASC" }],
        sortable_fields: ["id", "at", "amount"],
      },
      routewright: {
        cursor: true,
        filter: true,
        fields: true,
        filters: ["id", "name", "amount", "at", "flag"],
      },
    },
  ]),
);
const service = `${url}/odata/`;
const key = KEYS.tier3;
const basic = `Basic ${Buffer.from(`any:${key}`).toString("base64")}`;

type Row = Readonly<Record<string, unknown>>;

/** All rows by the API's own cursors. */
async function nativeRows(): Promise<readonly Row[]> {
  const rows: Row[] = [];
  let path: string | undefined = "/v1/shop/events?limit=10000";
  while (path !== undefined) {
    const { text, headers } = await sendRequest(url, path, { key });
    rows.push(...(JSON.parse(text) as Row[]));
    path = /<([^>]+)>; rel="next"/.exec(String(headers["link"] ?? ""))?.[1];
  }
  return rows;
}

const require = createRequire(import.meta.url);

const timeOf = (id: number): string =>
  new Date(Date.UTC(2026, 0, 1, 0, id)).toISOString().replace(".000", "");
/** The last rows with the flag, each seventh. */
const FLAGGED = Array.from({ length: 5 }, (_, i) => 7 * (Math.floor(ROWS / 7) - i));
/** A row before all of these. */
const BEFORE = ROWS - 1000;

describe("pages of many rows", () => {
  it("are those of the API, whatever their size", async () => {
    const native = await nativeRows();
    expect(native).toHaveLength(ROWS);
    for (const size of [10_000, 4999]) {
      const rows: Row[] = [];
      let next: string | undefined = `${service}shop__events`;
      while (next !== undefined) {
        const reply = await fetch(next, {
          headers: { authorization: basic, prefer: `odata.maxpagesize=${String(size)}` },
        });
        const body = (await reply.json()) as { value: Row[]; "@odata.nextLink"?: string };
        rows.push(...body.value);
        next = body["@odata.nextLink"];
      }
      expect(rows).toEqual(native);
    }
  });
});

describe("what Power BI sends", () => {
  const ACCEPT =
    "application/json;odata.metadata=minimal;q=1.0,application/json;odata=minimalmetadata;q=0.9,application/atomsvc+xml;q=0.8,application/atom+xml;q=0.8,application/xml;q=0.7,text/plain;q=0.7";
  const headers = {
    ...{
      authorization: basic,
      accept: ACCEPT,
      "odata-maxversion": "4.0",
      "accept-encoding": "gzip, deflate",
    },
    ...{ maxdataserviceversion: "3.0", "odata-version": "4.0", "user-agent": "Microsoft.Data.Mashup" },
  };
  const ask = (path: string, more: Record<string, string> = {}) =>
    fetch(new URL(path, service), { headers: { ...headers, ...more } });

  it("is answered step by step: root, metadata, a probe, the preview, a filter, all pages", async () => {
    const anonymous = await fetch(new URL("shop__events?$top=1000", service));
    expect(anonymous.status).toBe(401);
    const root = (await (await ask("")).json()) as { value: { url: string }[] };
    expect(root.value.map((each) => each.url)).toEqual(["shop__events"]);
    const metadata = await ask("$metadata", { accept: "application/xml" });
    expect(metadata.headers.get("odata-version")).toBe("4.0");
    expect(await metadata.text()).toContain('<edmx:Edmx Version="4.0"');
    const all = "$select=id%2Cname%2Camount%2Cat%2Cflag";
    const queries: readonly (readonly [string, number])[] = [
      ["shop__events?$top=1000", 1000],
      [`shop__events?${all}&$top=1000`, 1000],
      ["shop__events?$top=0", 0],
      [
        "shop__events?$filter=flag%20and%20at%20ge%202026-01-02T00:00:00Z%20and%20at%20lt%202026-01-02T01:00:00Z&$top=1000",
        9,
      ],
      [
        "shop__events?$filter=name%20eq%20%27name%201%27%20and%20id%20le%201000&$orderby=amount%20desc&$select=id%2Camount",
        11,
      ],
      ["shop__events?$filter=date(at)%20eq%202026-01-03&$top=2000", 1440],
    ];
    for (const [path, count] of queries) {
      const reply = await ask(path);
      const body = (await reply.json()) as { value: Row[]; "@odata.nextLink"?: string };
      expect([path, body.value.length, body["@odata.nextLink"]]).toEqual([path, count, undefined]);
    }
    const first = (await (await ask(`shop__events?${all}`)).json()) as { "@odata.nextLink": string };
    expect(first["@odata.nextLink"]).toContain(
      `${service}shop__events?$select=id%2Cname%2Camount%2Cat%2Cflag&$skiptoken=`,
    );
    expect((await ask("shop__events/$count")).headers.get("content-type")).toContain("text/plain");
  });

  it("of casts, which no filter here has, is 501 as OData asks for", async () => {
    expect((await ask("shop__events?$filter=cast(id,Edm.Double)%20gt%201")).status).toBe(501);
  });
});

describe.skipIf(!needs("@odata/client"))("clients of JavaScript", () => {
  it("@odata/client filters, orders and counts", async () => {
    const { OData } = require(programPath("@odata/client")) as {
      OData: {
        New4(options: object): {
          getEntitySet(name: string): {
            query(parameters: object): Promise<Row[]>;
            find(...filter: unknown[]): Promise<Row[]>;
            retrieve(key: unknown): Promise<Row>;
            count(): Promise<number>;
          };
          newParam(): {
            filter(text: string): { top(n: number): { orderby(name: string, order: string): object } };
          };
        };
      };
    };
    const client = OData.New4({
      serviceEndpoint: service,
      credential: { username: "any", password: key },
      variant: "default",
    });
    const events = client.getEntitySet("shop__events");
    const asked = client.newParam().filter("name eq 'name 1' and id lt 300").top(2).orderby("id", "desc");
    expect((await events.query(asked)).map(({ id }) => id)).toEqual([292, 195]);
    expect(await events.retrieve(42)).toMatchObject({ id: 42, name: "name 42" });
  });

  it("o.js reads rows and single ones", async () => {
    const { o } = require(join(programPath("@odata/client"), "../../o.js")) as {
      o: (url: string, options: object) => { get(path: string): { query(query?: object): Promise<unknown> } };
    };
    const client = () => o(service, { headers: { Authorization: basic } });
    const rows = (await client()
      .get("shop__events")
      .query({ $filter: "id le 3", $select: "id", $orderby: "id desc" })) as Row[];
    expect(rows.map(({ id }) => id)).toEqual([3, 2, 1]);
    expect(await client().get("shop__events(7)").query()).toMatchObject({ id: 7, flag: true });
  });
});

const PROGRAM = `
import sys, requests
from requests.auth import HTTPBasicAuth
from odata import ODataService
service = ODataService(sys.argv[1], reflect_entities=True, auth=HTTPBasicAuth("any", sys.argv[2]), quiet_progress=True)
Event = service.entities["shop__events"]
query = service.query(Event).filter((Event.id > ${String(BEFORE)}) & (Event.flag == True)).order_by(Event.id.desc()).limit(5)
print([event.id for event in query])
ids = [event.id for event in service.query(Event)]
print(len(ids), ids == sorted(set(ids)), sum(ids))
print(service.query(Event).get(42).name)
`;

it.skipIf(!needs("odata", "python3"))(
  "python-odata makes classes of $metadata and reads all rows",
  async () => {
    const env = { ...process.env, PYTHONPATH: join(programPath("odata"), "..") };
    const { stdout } = await promisify(execFile)("python3", ["-c", PROGRAM, service, key], { env });
    expect(stdout.trim().split("\n")).toEqual([
      `[${FLAGGED.join(", ")}]`,
      `${String(ROWS)} True ${String((ROWS * (ROWS + 1)) / 2)}`,
      "name 42",
    ]);
  },
);

const OLINGO = String.raw`
import java.math.BigDecimal;
import java.net.URI;
import java.util.*;
import org.apache.olingo.client.api.communication.request.batch.ODataBatchRequest;
import org.apache.olingo.client.api.communication.response.ODataRetrieveResponse;
import org.apache.olingo.client.api.domain.*;
import org.apache.olingo.client.core.ODataClientFactory;
import org.apache.olingo.client.core.http.BasicAuthHttpClientFactory;
import org.apache.olingo.commons.api.edm.*;

public class Events {
  public static void main(String[] args) throws Exception {
    var client = ODataClientFactory.getClient();
    client.getConfiguration().setHttpClientFactory(new BasicAuthHttpClientFactory("any", args[1]));
    var requests = client.getRetrieveRequestFactory();
    var set = requests.getServiceDocumentRequest(args[0]).execute().getBody().getEntitySetNames().iterator().next();
    // A request of its own for $metadata also loads OASIS's vocabularies from the internet.
    var metadata = new URI(args[0] + "/$metadata").toURL().openConnection();
    metadata.setRequestProperty("Accept", "application/xml");
    metadata.setRequestProperty("Authorization", "Basic " + Base64.getEncoder().encodeToString(("any:" + args[1]).getBytes()));
    var edm = client.getReader().readMetadata(metadata.getInputStream());
    var type = edm.getEntityContainer().getEntitySet(set).getEntityType();
    var types = new ArrayList<String>();
    for (var name : type.getPropertyNames()) types.add(name + " " + type.getStructuralProperty(name).getType().getName());
    System.out.println(set + " " + type.getKeyPredicateNames() + " " + types);

    URI next = client.newURIBuilder(args[0]).appendEntitySetSegment(set).build();
    long count = 0, last = 0;
    var sum = BigDecimal.ZERO;
    while (next != null) {
      var page = requests.getEntitySetRequest(next).execute().getBody();
      for (var event : page.getEntities()) {
        var id = ((Number) event.getProperty("id").getPrimitiveValue().toValue()).longValue();
        if (id <= last) throw new Error("out of order");
        last = id;
        count++;
        sum = sum.add(event.getProperty("amount").getPrimitiveValue().toCastValue(BigDecimal.class));
      }
      next = page.getNext();
    }
    System.out.println(count + " " + sum);

    var filters = client.getFilterFactory();
    var filter = filters.and(filters.gt("id", ${String(BEFORE)}), filters.eq("flag", true));
    var found = client.newURIBuilder(args[0]).appendEntitySetSegment(set).filter(filter).orderBy("id desc").top(2).build();
    for (var event : requests.getEntitySetRequest(found).execute().getBody().getEntities())
      System.out.println(event.getProperty("id").getValue() + " " + event.getProperty("at").getValue());
    var one = client.newURIBuilder(args[0]).appendEntitySetSegment(set).appendKeySegment(42).build();
    System.out.println(requests.getEntityRequest(one).execute().getBody().getProperty("name").getValue());
    System.out.println(requests.getValueRequest(client.newURIBuilder(args[0]).appendEntitySetSegment(set).count().build()).execute().getBody());
    try {
      requests.getEntitySetRequest(client.newURIBuilder(args[0]).appendEntitySetSegment(set).filter("nothing eq 1").build()).execute();
    } catch (org.apache.olingo.client.api.communication.ODataClientErrorException error) {
      System.out.println(error.getStatusLine().getStatusCode() + " " + error.getODataError().getCode());
    }

    var batch = client.getBatchRequestFactory().getBatchRequest(args[0]);
    var manager = ((ODataBatchRequest) batch.addCustomHeader("Prefer", "odata.continue-on-error")).payloadManager();
    var count0 = client.newURIBuilder(args[0]).appendEntitySetSegment(set).count().build();
    var none = client.newURIBuilder(args[0]).appendEntitySetSegment("none").build();
    manager.addRequest(requests.getEntityRequest(one));
    manager.addRequest(requests.getValueRequest(count0));
    manager.addRequest(requests.getEntitySetRequest(none));
    var results = new ArrayList<String>();
    var responses = manager.getResponse().getBody();
    var name = ((ODataRetrieveResponse<ClientEntity>) responses.next().next()).getBody().getProperty("name").getValue();
    results.add("200 " + name);
    results.add("200 " + ((ODataRetrieveResponse<ClientPrimitiveValue>) responses.next().next()).getBody().toString().trim());
    var refused = responses.next().next();
    var text = new String(refused.getRawResponse().readAllBytes());
    results.add(refused.getStatusCode() + " " + text.replaceAll(".*\"code\":\"(\\w+)\".*", "$1"));
    System.out.println(String.join(", ", results));
  }
}
`;

it.skipIf(!needs("javac", "odata-client-core-5.0.0.jar"))(
  "Apache Olingo reads $metadata, all rows, filters, keys, counts and errors",
  async () => {
    const folder = ownFolder();
    const file = join(folder, "Events.java");
    writeFileSync(file, OLINGO);
    const libraries = join(dirname(programPath("odata-client-core-5.0.0.jar")), "*");
    const args = [...SHORT_JAVA.split(" "), "-cp", libraries, file, service.slice(0, -1), key];
    const { stdout } = await promisify(execFile)("java", args);
    const cents = (ROWS * (ROWS + 1) * 101) / 2;
    expect(stdout.trim().split("\n")).toEqual([
      "shop__events [id] [id Int32, name String, amount Decimal, at DateTimeOffset, flag Boolean]",
      `${String(ROWS)} ${(cents / 100).toFixed(2)}`,
      ...FLAGGED.slice(0, 2).map((id) => `${String(id)} ${timeOf(id)}`),
      ...["name 42", String(ROWS)],
      "400 filterColumn",
      `200 name 42, 200 ${String(ROWS)}, 404 notFound`,
    ]);
  },
);
