import { runInNewContext } from "node:vm";
import fc from "fast-check";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import {
  literal,
  type Literal,
  memberName,
  Properties,
  propertyKey,
  stringLiteral,
} from "../../generator/render/code.js";
import { oddities, parse } from "./compiler.js";
import { HOSTILE, hostileText } from "./words.js";

function evaluated(code: string): unknown {
  return runInNewContext(`(${code})`);
}

/** What a literal stands for, with objects as lists of their members: names may be anything. */
function meant(value: Literal): unknown {
  if (value instanceof Properties) {
    const members = new Map(value.entries.map(([name, item]) => [name, meant(item)]));
    return [...members].sort(([a], [b]) => (a < b ? -1 : 1));
  }
  return Array.isArray(value) ? value.map((item: Literal) => meant(item)) : value;
}

function asMembers(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asMembers);
  if (typeof value !== "object" || value === null) return value;
  return Object.entries(value)
    .map(([name, item]) => [name, asMembers(item)] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

const { literals } = fc.letrec<{ literals: Literal; list: Literal; object: Literal }>((tie) => ({
  literals: fc.oneof(
    { depthSize: "small" },
    hostileText,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    tie("list"),
    tie("object"),
  ),
  list: fc.array(tie("literals"), { maxLength: 4 }),
  object: fc
    .uniqueArray(fc.tuple(hostileText, tie("literals")), { maxLength: 4, selector: ([name]) => name })
    .map((entries) => new Properties(entries)),
}));

describe("a string literal", () => {
  it.each(HOSTILE.map((text) => [text]))("of %j evaluates to the same text", (text) => {
    expect(evaluated(stringLiteral(text))).toBe(text);
  });

  it("evaluates to the same text, is one line, and hides nothing", () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        const code = stringLiteral(text);
        expect(evaluated(code)).toBe(text);
        expect(code).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
      }),
      { numRuns: 1000 },
    );
  });
});

describe("a literal", () => {
  it("evaluates to the value, whatever names and texts it has", () => {
    fc.assert(
      fc.property(literals, (value) => {
        expect(asMembers(evaluated(literal(value)))).toEqual(meant(value));
      }),
      { numRuns: 500 },
    );
  });

  it("stays on one line within 110 characters, else has an item a line", () => {
    expect(literal(["a", "b"])).toBe('["a", "b"]');
    const long = literal(["x".repeat(60), "y".repeat(60)]);
    expect(long).toBe(`[\n  "${"x".repeat(60)}",\n  "${"y".repeat(60)}",\n]`);
    expect(literal(["x".repeat(105)])).toHaveLength(109);
    expect(literal(["x".repeat(106)])).toContain("\n");
  });

  it("keeps the order of names, also of those that look like numbers", () => {
    const value = new Properties([
      ["b", 1],
      ["2024", 2],
      ["a", 3],
    ]);
    expect(literal(value)).toBe('{ b: 1, "2024": 2, a: 3 }');
  });

  it("has __proto__ as a member like any other, and nothing as prototype", () => {
    const object = evaluated(literal(new Properties([["__proto__", new Properties([["x", 1]])]]))) as object;
    expect(Object.keys(object)).toEqual(["__proto__"]);
  });
});

describe("a name", () => {
  it("is a member of an interface, and the key of an object, whatever it is", () => {
    fc.assert(
      fc.property(hostileText, (name) => {
        const code = `interface X { ${memberName(name)}: 1 }\nconst x = { ${propertyKey(name)}: 1 };`;
        expect(oddities(code)).toEqual([]);
        const [declaration] = parse(code).statements;
        const members = declaration && ts.isInterfaceDeclaration(declaration) ? declaration.members : [];
        expect(members.map(({ name }) => (name && "text" in name ? name.text : undefined))).toEqual([name]);
      }),
      { numRuns: 500 },
    );
  });
});
