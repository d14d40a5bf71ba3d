import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { COMPILED_ONCE } from "../support/compiled-once.js";
import { nullable } from "../../generator/catalogue/types/data-type.js";
import { type JsonSchema, jsonSchemaOf } from "../../generator/catalogue/types/json-schema.js";
import { dataTypeOf } from "../../generator/catalogue/types/read-type.js";
import { typeScriptOf } from "../../generator/catalogue/types/typescript.js";
import { anyText } from "../support/any-text.js";

const quoted = (quote: string) => (text: string) => `${quote}${text}${quote}`;

/** Types as they might be written, with any text where a type can carry text. */
const { type: typeText } = fc.letrec<{ type: string; leaf: string; branch: string }>((tie) => ({
  type: fc.oneof({ maxDepth: 5, withCrossShrink: true }, tie("leaf"), tie("branch")),
  leaf: fc.oneof(
    fc.constantFrom(
      "UInt64",
      "Int8",
      "Decimal(38, 18)",
      "numeric(20,0)",
      "String",
      "Date",
      "DateTime64(3, 'UTC')",
    ),
    fc.constantFrom("uuid", "jsonb", "Float64", "Bool", "varchar(10)", "double precision", "wibble", ""),
    fc
      .array(anyText().map(quoted("'")), { minLength: 1, maxLength: 4 })
      .map((members) => `Enum8(${members.join()})`),
  ),
  branch: fc.oneof(
    fc
      .tuple(fc.constantFrom("Array", "Nullable", "LowCardinality"), tie("type"))
      .map(([name, of]) => `${name}(${of})`),
    fc.tuple(tie("type"), fc.constantFrom("[]", "[3]", " ARRAY")).map(([of, suffix]) => of + suffix),
    fc.tuple(tie("type"), tie("type")).map(([key, value]) => `Map(${key}, ${value})`),
    fc.array(tie("type"), { maxLength: 4 }).map((of) => `Tuple(${of.join()})`),
    fc
      .array(fc.tuple(anyText().map(quoted("`")), tie("type")), { maxLength: 4 })
      .map((fields) => `Nested(${fields.map((field) => field.join(" ")).join()})`),
  ),
}));

/** Pieces of types in no order, and any text at all. */
const anyType = fc.oneof(
  typeText,
  anyText(200),
  fc
    .array(
      fc.constantFrom(
        "(",
        ")",
        "[",
        "]",
        ",",
        "=",
        ".",
        "'",
        '"',
        "`",
        "\\",
        " ",
        "Tuple",
        "array",
        "a",
        "-1",
      ),
      { maxLength: 60 },
    )
    .map((pieces) => pieces.join("")),
);

const typeOf = fc
  .tuple(anyType, fc.boolean())
  .map(([text, isNullable]) => (isNullable ? nullable(dataTypeOf(text)) : dataTypeOf(text)));

function membersOfRow(text: string): readonly string[] {
  const source = ts.createSourceFile("row.ts", `interface Row { a: ${text}; }`, ts.ScriptTarget.ES2023, true);
  const [row, ...others] = source.statements;
  expect(others).toEqual([]);
  return row && ts.isInterfaceDeclaration(row) ? row.members.map((member) => member.getText()) : [];
}

function numbersIn(schema: JsonSchema): readonly number[] {
  const numbers: number[] = [];
  JSON.stringify(schema, (_key, value: unknown) => {
    if (typeof value === "number") numbers.push(value);
    return value;
  });
  return numbers;
}

describe("whatever a manifest holds for a type", () => {
  it("is read without throwing", () => {
    fc.assert(
      fc.property(anyType, (text) => {
        expect(dataTypeOf(text)).toHaveProperty("kind");
      }),
      { numRuns: 2000 },
    );
  });

  it("becomes one TypeScript type on one line that parses and stays in its member", () => {
    fc.assert(
      fc.property(typeOf, (type) => {
        const text = typeScriptOf(type);
        const { diagnostics } = ts.transpileModule(`type T = ${text};`, { reportDiagnostics: true });
        expect(diagnostics).toEqual([]);
        expect(text).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
        expect(membersOfRow(text)).toEqual([`a: ${text};`]);
      }),
      { numRuns: 500 },
    );
  });

  it("becomes a JSON Schema that is valid and exact when printed", () => {
    const ajv = new Ajv2020({ ...COMPILED_ONCE, strict: true, validateFormats: false });
    fc.assert(
      fc.property(typeOf, (type) => {
        const schema = jsonSchemaOf(type);
        expect(ajv.validateSchema(schema)).toBe(true);
        expect(numbersIn(schema).filter((number) => !Number.isSafeInteger(number))).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });
});

describe("the JSON Schema in a strict validator", () => {
  const ajv = new Ajv2020({ ...COMPILED_ONCE, strict: true, validateFormats: false });

  it.each<[text: string, accepted: readonly unknown[], refused: readonly unknown[]]>([
    ["UInt8", [0, 255], [-1, 256, 1.5, "1", null]],
    ["UInt256", [0, 2 ** 255], [-1, null]],
    ["Nullable(Decimal(10, 2))", [1.25, null], ["1.25"]],
    ["varchar(2)", ["ab", "😀😀"], ["abc", null]],
    ["Nullable(Enum8('a' = 1))", ["a", null], ["b"]],
    ["Map(String, UInt8)", [{}, { a: 1 }], [{ a: "1" }, []]],
    ["Tuple(String, UInt8)", [["a", 1]], [["a"], ["a", 1, 2], [1, "a"]]],
    ["Nested(a String)", [[], [{ a: "x" }]], [[{}], [{ a: 1 }]]],
    ["_int4", [[1, 2]], [["1"], [2 ** 31]]],
    ["json", [null, 1, {}, []], []],
    ["wibble", [null, 1, {}, []], []],
  ])("of %s accepts its values and refuses others", (text, accepted, refused) => {
    const validate = ajv.compile(jsonSchemaOf(dataTypeOf(text)));
    expect(accepted.filter((value) => !validate(value))).toEqual([]);
    expect(refused.filter((value) => validate(value))).toEqual([]);
  });
});
