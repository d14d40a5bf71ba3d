import { type HttpError, httpError, isHttpError, type Result } from "../core/model/errors.js";
import { FILTER_LIMITS } from "../core/model/limits.js";
import { type Condition, isGroup } from "../core/model/query.js";
import { columnsIn, type FilterScope } from "./comparisons.js";
import { conditionOf } from "./conditions.js";
import type { Expression } from "./expression.js";
import { parse } from "./parser.js";

/** The conditions of the parameter `filter`: those at the top, of which all hold (runtime/docs/filter.md). */
export function readFilter(text: string, scope: FilterScope): Result<readonly Condition[]> {
  if (Buffer.byteLength(text) > FILTER_LIMITS.bytes) return httpError("filterTooComplex", FILTER_LIMITS);
  if (text.includes("\0")) return httpError("nulCharacter", { name: "filter" });
  const expression = parsed(text);
  if (isHttpError(expression)) return expression;
  const condition = conditionOf(expression, columnsIn(scope));
  return isHttpError(condition) ? condition : atTop(condition);
}

function atTop(condition: Condition): readonly Condition[] {
  return isGroup(condition) && condition.operator === "and" ? condition.of.flatMap(atTop) : [condition];
}

function parsed(text: string): Result<Expression> {
  try {
    return parse(text, { maxDepth: FILTER_LIMITS.depth, maxValues: FILTER_LIMITS.values }) as Expression;
  } catch (error) {
    if (error instanceof Error && "location" in error) return problemOf(error as unknown as SyntaxProblem);
    throw error;
  }
}

/** The error of a generated parser. */
interface SyntaxProblem {
  readonly message: string;
  readonly location: { readonly start: { readonly offset: number } };
  /** Null: the grammar has said what is wrong. */
  readonly expected:
    readonly { readonly type: string; readonly description?: string; readonly text?: string }[] | null;
  readonly found: string | null;
}

function problemOf({ message, expected, found, location }: SyntaxProblem): HttpError {
  const position = location.start.offset + 1;
  if (expected === null)
    return message === "complex"
      ? httpError("filterTooComplex", FILTER_LIMITS)
      : httpError("filterSyntax", { position, expected: "a quote that ends the text", found: END });
  const names = new Set(expected.map(({ description, text, type }) => description ?? text ?? NAMES[type]));
  return httpError("filterSyntax", {
    position,
    expected: [...names]
      .filter((name) => name !== undefined)
      .toSorted()
      .join(", "),
    found: found === null ? END : `'${found}'`,
  });
}

const END = "the end";

const NAMES: Readonly<Record<string, string>> = { end: END };

/** Texts that the parser reads before the first request: a first text of 8 KiB takes half of its processor time then. */
const SAMPLE = `${"n eq 1 or (not contains(t,'x') and n in (1,2.5)) or ".repeat(20)}d ge 2026-01-01`;
const WARM_UPS = 5;
const SAMPLE_SCOPE: FilterScope = {
  filters: [
    { column: "n", type: "number" },
    { column: "t", type: "text" },
    { column: "d", type: "date" },
  ],
  timezoneOf: () => undefined,
};
for (let i = 0; i < WARM_UPS; i++) for (const end of ["", " or"]) readFilter(SAMPLE + end, SAMPLE_SCOPE);
