import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { MAX_TYPE_TEXT } from "../../runtime/core/model/type-text.js";
import { nullable, typeFrom } from "../../generator/catalogue/types/data-type.js";
import { jsonSchemaOf } from "../../generator/catalogue/types/json-schema.js";
import { dataTypeOf } from "../../generator/catalogue/types/read-type.js";
import { databaseTypeOf, isZoneless, textFormOf } from "../../generator/catalogue/types/type-facts.js";
import { typeScriptOf } from "../../generator/catalogue/types/typescript.js";

/** A line per type of both engines: its text, what it is read as, its TypeScript type, its JSON Schema. `vitest -u` writes all but the text. */
const TYPES = new URL("column-types.jsonl", import.meta.url);
const unknown = { kind: "unknown" };
const string = typeFrom({ kind: "text" }, "String");
/** Each type in the lines keeps its text, which stands in front of them. */
const withoutText = (key: string, value: unknown): unknown => (key === "text" ? undefined : value);

it("reads, describes and types the types of both engines", async () => {
  const texts = readFileSync(TYPES, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => (JSON.parse(line) as readonly [string])[0]);
  const lines = texts.map((text) => {
    const type = dataTypeOf(text);
    return `${JSON.stringify([text, type, typeScriptOf(type), jsonSchemaOf(type)], withoutText)}\n`;
  });
  await expect(lines.join("")).toMatchFileSnapshot("column-types.jsonl");
});

it("a type that is not given is unknown", () => {
  expect(dataTypeOf(undefined)).toMatchObject(unknown);
});

describe("nesting and length", () => {
  const nested = (depth: number) => "Array(".repeat(depth) + "String" + ")".repeat(depth);

  it("is read down to 32 levels", () => {
    expect(dataTypeOf(nested(32)).kind).toBe("array");
    expect(dataTypeOf(nested(33))).toMatchObject(unknown);
    expect(dataTypeOf(nested(9_000))).toMatchObject(unknown);
  });

  it.each([
    "(",
    "[",
    "Array(",
    "Tuple(a ",
    "Nullable(",
    "[]",
    "text[] ",
    "'",
    "\\",
    "'\\",
    "''",
    ",",
    "_",
    "int ",
  ])("repeated %j up to the limit is unknown", (piece) => {
    const full = piece.repeat(Math.floor(MAX_TYPE_TEXT / piece.length));
    expect(dataTypeOf(full)).toMatchObject(unknown);
    expect(dataTypeOf(nested(10_000))).toMatchObject(unknown);
  });

  it("reads an enum of thousands of members, and nothing longer than the limit", () => {
    const members = Array.from({ length: 3000 }, (_, index) => `'member_${index}' = ${index}`);
    expect(dataTypeOf(`Enum16(${members.join(", ")})`)).toMatchObject({ kind: "enum", nullable: false });
    expect(dataTypeOf("String".padEnd(MAX_TYPE_TEXT))).toMatchObject({ kind: "text" });
    expect(dataTypeOf("String".padEnd(MAX_TYPE_TEXT + 1))).toMatchObject(unknown);
  });

  it("a tuple of named tuples is read once per level", () => {
    const text = "Tuple(tuple ".repeat(32) + "String" + ")".repeat(32);
    expect(dataTypeOf(text)).toMatchObject({ kind: "record", fields: [{ name: "tuple" }] });
  });
});

describe("nullable", () => {
  it("allows null in any type once", () => {
    expect(nullable(string)).toEqual({ ...string, nullable: true });
    expect(nullable(nullable(string))).toEqual(nullable(string));
  });

  it("changes neither json nor unknown, which hold null already", () => {
    for (const type of ["json", "wibble"].map((text) => dataTypeOf(text))) expect(nullable(type)).toBe(type);
  });
});

it("an aggregate that is a value is filtered and compared as the value", () => {
  for (const held of ["UUID", "DateTime64(3)", "Nullable(Int32)"]) {
    const type = dataTypeOf(`SimpleAggregateFunction(anyLast, ${held})`);
    expect(databaseTypeOf(type)).toEqual(databaseTypeOf(dataTypeOf(held)));
    expect(textFormOf(type)).toEqual(textFormOf(dataTypeOf(held)));
  }
});

it("only a timestamp of PostgreSQL has no zone, not a field of that name", () => {
  const types = ["timestamp", "timestamp(3) without time zone null", "pg_catalog.timestamp[]"];
  expect(types.filter((text) => isZoneless(dataTypeOf(text)))).toEqual(types);
  const others = [
    "timestamptz",
    "timestamp with time zone",
    "DateTime",
    "Tuple(at Date, timestamp DateTime)",
  ];
  expect(others.filter((text) => isZoneless(dataTypeOf(text)))).toEqual([]);
});

it("spells out a dozen short enum members, and calls more or longer ones a string", () => {
  const enumOf = (members: readonly string[]): string =>
    typeScriptOf(dataTypeOf(`Enum16(${members.map((member) => `'${member}'`).join(", ")})`));
  const numbered = (count: number): string[] => Array.from({ length: count }, (_, i) => `m${i}`);
  expect(enumOf(numbered(12)).split(" | ")).toEqual(numbered(12).map((member) => `"${member}"`));
  expect(enumOf(numbered(13))).toBe("string");
  expect(enumOf(["x".repeat(99)])).toBe("string");
});
