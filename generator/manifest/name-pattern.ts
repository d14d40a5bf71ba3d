import type { Model } from "./model.js";
import { HINT } from "./schema-errors.js";
import { escaped, oneOrMore } from "./selection.js";

const PARTS = ["resource", "category", "granularity", "window"] as const;

/** What the name of a model says of its path. */
export type NameParts = Readonly<Partial<Record<(typeof PARTS)[number], string>>>;

/** Patterns of names: `fct_{resource}_{granularity}`. */
export const NAME_PATTERNS = oneOrMore({
  pattern: `^(?=.*\\{resource\\})(?!.*(\\{\\w+\\}).*\\1)(?:[\\w.*/-]|\\{(?:${PARTS.join("|")})\\})+$`,
  [HINT]:
    "Write the model's name with {resource}, and {category}, {granularity} and {window} where it has them, each once: `fct_{resource}_{granularity}`.",
});

/** The parts of the first pattern that a model fits; null where it fits none. */
export function namePartsIn(patterns: string | readonly string[], { name, file }: Model): NameParts | null {
  for (const pattern of [patterns].flat()) {
    const found = expressionOf(pattern).exec(pattern.includes("/") ? file.replace(/\.\w+$/, "") : name);
    if (found !== null) return { ...found.groups };
  }
  return null;
}

/** Words that a name ends in, where it says which times the rows are of. */
const GRANULARITY =
  "hourly|daily|weekly|monthly|quarterly|yearly|latest|snapshot|in_ranges|all_time|(?:last|rolling)_\\d+[a-z]+";

const EXPRESSIONS: Readonly<Record<(typeof PARTS)[number], string>> = {
  resource: "[\\w.-]+?",
  category: "[\\w.-]+?",
  granularity: GRANULARITY,
  window: "(?:(?:last|rolling)_)?\\d+[a-z]+",
};

/** A pattern with `/` is of the end of the model's file, so that folders give parts too. */
function expressionOf(pattern: string): RegExp {
  const text = pattern
    .split(/(\{\w+\}|\*)/)
    .map((piece) => {
      if (piece === "*") return "[^/]*?";
      const part = PARTS.find((one) => piece === `{${one}}`);
      return part === undefined ? escaped(piece) : `(?<${part}>${EXPRESSIONS[part]})`;
    })
    .join("");
  return new RegExp(`${pattern.includes("/") ? "(?:^|/)" : "^"}${text}$`);
}
