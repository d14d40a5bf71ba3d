import fc from "fast-check";
import { Project, StructureKind, VariableDeclarationKind, type VariableStatementStructure } from "ts-morph";
import { describe, expect, it } from "vitest";
import { docText, lineComment } from "../../generator/render/code.js";
import { commentsOf, oddities, parse } from "./compiler.js";
import { HOSTILE, hostileText } from "./words.js";

const project = new Project({ useInMemoryFileSystem: true });

/** A statement with these words as its doc comment, as the printer of route modules writes it. */
function documented(words: readonly string[]): string {
  const text = docText(words);
  const statement: VariableStatementStructure = {
    kind: StructureKind.VariableStatement,
    declarationKind: VariableDeclarationKind.Const,
    declarations: [{ name: "after", initializer: "1" }],
    ...(text !== "" && { docs: [text] }),
  };
  return project.createSourceFile("a.ts", { statements: [statement] }, { overwrite: true }).getFullText();
}

/** A comment of these words in front of a statement must be that: one comment, one statement. */
function expectHarmless(code: string, words: string): void {
  expect(oddities(code)).toEqual([]);
  expect(parse(code).statements.map((statement) => statement.getText())).toEqual(["const after = 1;"]);
  expect(commentsOf(code).length).toBeLessThanOrEqual(1);
  expect(Buffer.from(code).toString(), `not the same once written: ${JSON.stringify(words)}`).toBe(code);
  expect(code.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u);
}

describe("a doc comment", () => {
  it.each(HOSTILE.map((text) => [text]))("of %j ends where it should", (text) => {
    expectHarmless(documented([text]), text);
  });

  it("never ends early, and is no directive, whatever words it has", () => {
    fc.assert(
      fc.property(fc.array(hostileText, { maxLength: 3 }), (words) => {
        expectHarmless(documented(words), words.join("|"));
      }),
      { numRuns: 1000 },
    );
  });

  it("is one line for one, and paragraphs for several", () => {
    expect(documented(["Day."])).toBe("/** Day. */\nconst after = 1;\n");
    expect(documented(["One.", "Two,\nthree."])).toBe(
      "/**\n * One.\n *\n * Two,\n * three.\n */\nconst after = 1;\n",
    );
  });

  it("is nothing without words", () => {
    expect(documented([])).toBe("const after = 1;\n");
    expect(documented(["", " \n "])).toBe("const after = 1;\n");
  });

  it("leaves words of all scripts, and Markdown, as they are", () => {
    const text = "Größe 大小 🌉: `a_b` **bold** <b>x</b> 50% a@b * / \\";
    expect(documented([text.replace("a@b", "")])).toContain(text.replace("a@b", ""));
  });
});

describe("the comment on a line", () => {
  it("never leaves its line, whatever words it has", () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        const code = `// From ${lineComment(text)}. End\nconst after = 1;`;
        expectHarmless(code, text);
        expect(code.split("\n")).toHaveLength(2);
      }),
      { numRuns: 1000 },
    );
  });
});
