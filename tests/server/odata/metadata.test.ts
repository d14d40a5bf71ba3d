import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Ajv } from "ajv";
import { describe, expect, it } from "vitest";
import { databaseType, declaredType } from "../../../runtime/server/odata/edm-types.js";
import { propertyName, setName } from "../../../runtime/server/odata/names.js";
import { ownSchema } from "../../support/database.js";
import { sendRequest } from "../../support/http-client.js";
import { manifestOf } from "../../support/manifest.js";
import { needs, programPath } from "../../support/needs.js";
import { KEYS, serveManifest } from "../../support/service.js";
import { ask, read, serveOrders, url as orders } from "./orders-by-odata.js";

await serveOrders();

const ODD = "<&\"'>\u0000\u0008\ud800 ]]> \n\u{1F600}";
const schema = await ownSchema(
  `CREATE TABLE @.odd (id int, "a b" jsonb, "a_x0020_b" text, matrix int[][], untyped numeric(9,3), amount_usd numeric);
   INSERT INTO @.odd VALUES (1, '{"a": 1}', 'x', '{{1}}', 1.5, 2)`,
);
const described = (manifest: unknown): unknown => {
  const { nodes } = manifest as {
    nodes: Record<string, { columns: Record<string, { description: string }> }>;
  };
  const columns = nodes["model.test.odd"]?.columns ?? {};
  if (columns["id"]) columns["id"].description = ODD;
  return manifest;
};
const odd = await serveManifest(
  described(
    manifestOf([
      {
        ...{ name: "odd", schema, key: "id", description: ODD },
        api: {
          allow_unfiltered: true,
          pagination: { enabled: true, default_limit: 1, max_limit: 10 },
          sort: [{ column: "id", direction: "ASC" }],
        },
        routewright: { cursor: true },
        columns: {
          id: "integer",
          "a b": "jsonb",
          a_x0020_b: "text",
          matrix: "int[][]",
          untyped: null,
          amount_usd: "numeric",
        },
      },
    ]),
  ),
);

/** `$metadata` of a service, in a version. */
async function metadata(url: string, headers: Record<string, string> = {}, format = ""): Promise<string> {
  const { status, text } = await sendRequest(url, `/odata/$metadata${format}`, { key: KEYS.tier3, headers });
  expect(status).toBe(200);
  return text;
}

/** What is used of `libxml2-wasm`, which is installed beside the project. */
interface Library {
  readonly XmlDocument: {
    fromBuffer(bytes: Buffer, options: { readonly url: string }): object;
    fromString(text: string): object;
  };
  readonly XsdValidator: { fromDoc(schema: object): { validate(document: object): void } };
  readonly xmlRegisterFsInputProviders: () => void;
}

const OASIS = programPath("odata-csdl");

/** The errors of OASIS's edmx.xsd and edm.xsd. */
async function xsdErrors(xml: string): Promise<readonly string[]> {
  const library = (name: string) => import(pathToFileURL(join(OASIS, "../libxml2-wasm/lib", name)).href);
  const { XmlDocument, XsdValidator } = (await library("index.mjs")) as Library;
  const { xmlRegisterFsInputProviders } = (await library("nodejs.mjs")) as Library;
  xmlRegisterFsInputProviders();
  const path = join(OASIS, "schemas/edmx.xsd");
  const validator = XsdValidator.fromDoc(XmlDocument.fromBuffer(readFileSync(path), { url: path }));
  try {
    validator.validate(XmlDocument.fromString(xml));
    return [];
  } catch (error) {
    return [String(error)];
  }
}

describe.skipIf(!needs("odata-csdl"))("$metadata is what OASIS's schemas say", () => {
  it.each(["4.0", "4.01"])("as XML of version %s", async (version) => {
    for (const url of [odd, orders]) {
      const xml = await metadata(url, { "odata-maxversion": version });
      expect(xml).toContain(`<edmx:Edmx Version="${version}"`);
      expect(await xsdErrors(xml)).toEqual([]);
    }
    expect(await xsdErrors("<a/>")).not.toEqual([]);
  });

  it("as JSON, which says what the XML says", async () => {
    const require = createRequire(import.meta.url);
    const { xml2json } = require(OASIS) as { xml2json: (xml: string, options: object) => object };
    const validate = new Ajv({ strict: false, validateFormats: false }).compile(
      JSON.parse(readFileSync(join(OASIS, "schemas/csdl.schema.json"), "utf8")) as object,
    );
    for (const url of [odd, orders]) {
      const json = JSON.parse(await metadata(url, { accept: "application/json" })) as Record<string, unknown>;
      validate(json);
      expect(validate.errors ?? []).toEqual([]);
      const translated = xml2json(await metadata(url), { strict: true }) as Record<string, unknown>;
      const references = (of: Record<string, unknown>) =>
        JSON.stringify(of["$Reference"]).replaceAll(".xml", ".json");
      expect({ ...translated, $Reference: references(translated) }).toEqual({
        ...json,
        $Reference: references(json),
      });
    }
  });
});

describe("types", () => {
  it("of what a model does not declare are the database's, and what 4.0 has no type for is open", async () => {
    const xml = await metadata(odd);
    expect(xml).toContain('<Property Name="untyped" Type="Edm.Decimal" Precision="9" Scale="3"/>');
    expect(xml).toContain('<Property Name="a_x0020_b" Type="Edm.Untyped"/>');
    expect(xml).toContain('<Property Name="a_x005F_x0020_b" Type="Edm.String"/>');
    expect(xml).toContain('<Annotation Term="Measures.ISOCurrency" String="USD"/>');
    const old = await metadata(odd, { "odata-maxversion": "4.0" });
    expect(old).toContain('<EntityType Name="shop__odd" OpenType="true">');
    expect(old).not.toContain("Edm.Untyped");
    const rows = await sendRequest(odd, "/odata/shop__odd", { key: KEYS.tier3 });
    expect(JSON.parse(rows.text)).toMatchObject({
      value: [
        { id: 1, a_x0020_b: { a: 1 }, a_x005F_x0020_b: "x", matrix: [[1]], untyped: 1.5, amount_usd: 2 },
      ],
    });
  });

  it.each([
    ["int2", "Edm.Int16"],
    ["UInt16", "Edm.Int32"],
    ["UInt32", "Edm.Int64"],
    ["Int8", "Edm.SByte"],
    ["Nullable(UInt8)", "Edm.Byte"],
    ["character varying(20)", "Edm.String"],
    ["LowCardinality(Nullable(String))", "Edm.String"],
    ["timestamp(3) without time zone", "Edm.DateTimeOffset"],
    ["time", "Edm.TimeOfDay"],
    ["time with time zone", "Edm.String"],
    ["double precision", "Edm.Double"],
    ["real", "Edm.Single"],
    ["interval", "Edm.String"],
    ["bytea", "Edm.String"],
    ["Map(String, UInt8)", "Edm.Untyped"],
    ["point", "Edm.String"],
    ["text[]", "Edm.Untyped"],
    ["Array(Int64)", "Edm.Untyped"],
    ["Array(Array(String))", "Edm.Untyped"],
  ])("%s is %s", (text, name) => {
    expect(declaredType(text)?.name).toBe(name);
  });

  it("have their digits", () => {
    expect(declaredType("UInt64")).toEqual({ name: "Edm.Decimal", precision: 20, scale: 0 });
    expect(declaredType("Decimal64(4)")).toEqual({ name: "Edm.Decimal", precision: 18, scale: 4 });
    expect(declaredType("numeric")).toEqual({ name: "Edm.Decimal", scale: "variable" });
    expect(declaredType("Array(Nullable(String))")).toEqual({ name: "Edm.String", isCollection: true });
    expect(declaredType("DateTime64(9, 'UTC')")?.precision).toBe(9);
    expect(declaredType("order_status")).toBeNull();
    expect(databaseType({ name: "a", type: "_order_status", isEnum: true })).toEqual({ name: "Edm.Untyped" });
    expect(databaseType({ name: "a", type: "order_status", isEnum: true })).toEqual({ name: "Edm.String" });
  });
});

describe("names", () => {
  it("are those of paths and columns, and no two are the same", () => {
    const paths = [
      "a/b",
      "a/b/c",
      "a/b_c",
      "a/b__c",
      "a/b_/c",
      "a/b/_c",
      "a_/b",
      "a/b-c",
      "a/b_x002D_c",
      "a/1",
      "1/a",
      "a/B",
      "a/b_x0041-",
      "a/b_x0041x002D_",
    ];
    const names = paths.map((path) => setName(`/v1/${path}`));
    expect(names.slice(0, 3)).toEqual(["a__b", "a__b__c", "a__b_c"]);
    expect(new Set(names).size).toBe(paths.length);
    const long = ["x".repeat(200), `${"x".repeat(199)}y`].map(propertyName);
    expect(new Set(long).size).toBe(2);
    for (const name of [...names, ...long, propertyName("1 ü/🙂"), propertyName("-")])
      expect(name).toMatch(/^[\p{L}_][\p{L}\p{Nd}_]{0,127}$/u);
  });

  it("of random columns are not the same", () => {
    const characters = ["_", "x", "0", "0", "2", "D", "-", "a", " "];
    const texts = new Set(
      Array.from({ length: 20_000 }, (_, i) =>
        Array.from(
          { length: 9 },
          (_, k) => characters[Math.floor(i / 3 ** k + k * 7 + ((i * (k + 3)) % 11)) % characters.length],
        ).join(""),
      ),
    );
    expect(new Set([...texts].map(propertyName)).size).toBe(texts.size);
  });
});

describe("the service document", () => {
  it("names entity sets, and functions where no key is proven", async () => {
    const { value } = await read("/");
    expect(value).toContainEqual({
      name: "shop__orders",
      title: "Orders",
      kind: "EntitySet",
      url: "shop__orders",
    });
    expect(value).toContainEqual({
      name: "shop__orders_daily",
      title: "Orders daily",
      kind: "FunctionImport",
      url: "shop__orders_daily()",
    });
  });

  it("has what a key may call, and all that everybody sees without one", async () => {
    const namesFor = async (key?: string) => {
      const { text } = await ask("/", key === undefined ? {} : { key });
      return (JSON.parse(text) as { value: { name: string }[] }).value.map(({ name }) => name);
    };
    expect(await namesFor("sk_live_listed")).toEqual(["shop__orders"]);
    expect(await namesFor(KEYS.tier0)).not.toContain("shop__paid");
    expect(await namesFor()).toContain("shop__paid");
    const tag = (await ask("/$metadata", {})).headers.etag ?? "";
    expect((await ask("/$metadata", { headers: { "if-none-match": tag } })).status).toBe(304);
    expect((await ask("/$metadata", { key: "sk_live_listed" })).text).not.toContain("shop__paid");
  });
});
