import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import peggy from "peggy";

const GRAMMAR = fileURLToPath(new URL("../../runtime/filter/grammar.peggy", import.meta.url));

export const PARSER = fileURLToPath(new URL("../../runtime/filter/parser.ts", import.meta.url));

/** The source of the parser of `filter`. TypeScript compiles it as it is. */
export function parserSource(): string {
  const made = peggy.generate(readFileSync(GRAMMAR, "utf8"), { output: "source", format: "es" });
  const ownExports = made.lastIndexOf("export {");
  return `// @ts-nocheck\n${made.slice(0, ownExports)}export const parse: (text: string, options: object) => unknown = peg$parse;\n`;
}
