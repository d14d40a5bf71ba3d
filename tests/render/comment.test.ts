import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { docComment, lineComment } from "../../generator/render/comment.js";
import { commentsOf, oddities, parse } from "./compiler.js";
import { HOSTILE, hostileText } from "./words.js";

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
    expectHarmless(`${docComment([text], 0)}const after = 1;`, text);
  });

  it("never ends early, and is no directive, whatever words it has", () => {
    fc.assert(
      fc.property(fc.array(hostileText, { maxLength: 3 }), (words) => {
        expectHarmless(`${docComment(words, 2)}const after = 1;`, words.join("|"));
      }),
      { numRuns: 1000 },
    );
  });

  it("is one line for one, and paragraphs for several", () => {
    expect(docComment(["Day."], 2)).toBe("  /** Day. */\n");
    expect(docComment(["One.", "Two,\nthree."], 0)).toBe("/**\n * One.\n *\n * Two,\n * three.\n */\n");
  });

  it("is nothing without words", () => {
    expect(docComment([], 0)).toBe("");
    expect(docComment(["", " \n "], 0)).toBe("");
  });

  it("leaves words of all scripts, and Markdown, as they are", () => {
    const text = "Größe 大小 🌉: `a_b` **bold** <b>x</b> 50% a@b * / \\";
    expect(docComment([text.replace("a@b", "")], 0)).toContain(text.replace("a@b", ""));
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
