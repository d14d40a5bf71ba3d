/** What is known of mutants, a line each in a file. */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Mutant } from "./trial.js";

export interface Result {
  readonly number: number;
  readonly outcome:
    | "caught"
    | "caught by the rest"
    | "survived"
    | "not covered"
    | "survived all"
    | "does not compile"
    | "has no switch"
    | "equivalent";
  /** Where it is and what it changes. */
  readonly mutant: string;
  /** The test file that failed, or why no input can tell it apart. */
  readonly by?: string;
  /** Test files that say nothing of it, since they fail without it too. */
  readonly leftOut?: readonly string[];
}

const COUNTED: ReadonlySet<Result["outcome"]> = new Set([
  "caught",
  "caught by the rest",
  "survived",
  "not covered",
  "survived all",
]);

export class Results {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  /** By number; of two results of one mutant the last. */
  get known(): ReadonlyMap<number, Result> {
    const lines = existsSync(this.#file) ? readFileSync(this.#file, "utf8").trim().split("\n") : [];
    const results = lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Result);
    return new Map(results.map((result) => [result.number, result]));
  }

  /** How many have run. */
  get counted(): number {
    return [...this.known.values()].filter(({ outcome }) => COUNTED.has(outcome)).length;
  }

  keep(result: Result): void {
    mkdirSync(dirname(this.#file), { recursive: true });
    appendFileSync(this.#file, `${JSON.stringify(result)}\n`);
  }

  report(): void {
    const results = [...this.known.values()].sort((a, b) => a.number - b.number);
    for (const result of results) if (result.outcome !== "caught") console.log(lineOf(result));
    const countOf = (...wanted: readonly Result["outcome"][]): string =>
      String(results.filter(({ outcome }) => wanted.includes(outcome)).length);
    console.log(
      `The quick tests caught ${countOf("caught")} of ${String(this.counted)} mutants, with the rest ${countOf("caught", "caught by the rest")}; ${countOf("survived", "not covered")} have not run against the rest, of which no quick test runs ${countOf("not covered")}.`,
      "A value that is computed once and kept is covered by the first test file of each worker that asks for it: look at the others before you call such a mutant missed.",
    );
  }
}

export function lineOf({ number, outcome, mutant, by, leftOut = [] }: Result): string {
  const without = leftOut.length === 0 ? "" : ` (without ${leftOut.join(", ")})`;
  return `${String(number).padStart(4)} ${outcome}${by === undefined ? "" : ` (${by})`}${without}: ${mutant}`;
}

export function described({ file, expression: { start, end }, text, kind }: Mutant): string {
  const source = readFileSync(file, "utf8");
  const line = source.slice(0, start).split("\n").length;
  const short = (code: string): string => code.replace(/\s+/g, " ").slice(0, 60);
  return `${file}:${String(line)} ${kind}: ${short(source.slice(start, end))} → ${short(text)}`;
}
