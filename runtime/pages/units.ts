import type { CatalogueColumn } from "./catalogue-body.js";

/** What a number is counted in, before or behind it. */
export interface Unit {
  readonly before: string;
  readonly behind: string;
}

const NONE: Unit = { before: "", behind: "" };
const before = (text: string): Unit => ({ before: text, behind: "" });
const behind = (text: string): Unit => ({ before: "", behind: text });

/** Units by a word of a column's name or description. */
const UNITS: readonly (readonly [RegExp, Unit])[] = [
  [/^(usd|dollars?|us\$|\$)$/i, before("$")],
  [/^(eur|euros?|€)$/i, before("€")],
  [/^(gbp|pounds?|£)$/i, before("£")],
  [/^(pct|percent|percentage|apy|apr|%)$/i, behind("%")],
  [/^(ms|milliseconds?|millis)$/i, behind(" ms")],
  [/^(s|secs?|seconds?)$/i, behind(" s")],
  [/^(minutes?|mins?)$/i, behind(" min")],
  [/^(hours?|hrs?)$/i, behind(" h")],
  [/^days?$/i, behind(" days")],
  [/^bytes?$/i, behind(" B")],
  [/^(kb|mb|gb|tb|kwh|mwh|gwh|kg|km|chf|jpy|eth|btc|gwei|wei)$/i, NONE],
  [/^(tonnes?|tons?)$/i, behind(" t")],
];

function unitOfWord(word: string): Unit | null {
  const found = UNITS.find(([words]) => words.test(word))?.[1];
  if (found !== NONE) return found ?? null;
  const upper = word.toUpperCase();
  return behind(
    ` ${{ KB: "kB", KWH: "kWh", MWH: "MWh", GWH: "GWh", KG: "kg", KM: "km", GWEI: "gwei", WEI: "wei" }[upper] ?? upper}`,
  );
}

/** The unit that the last words of a column's name say, else its description: `in USD`, `(kWh)`. `cohort`: of the value of a unit column. */
export function unitOf(
  { name, description }: Pick<CatalogueColumn, "name" | "description">,
  cohort: string | null = null,
): Unit {
  if (cohort !== null && unitOfWord(cohort) !== null) return unitOfWord(cohort) ?? NONE;
  const words = name.split("_");
  // A count of days is not measured in days, and `days_active` neither.
  const named = words.length > 1 ? [...words].reverse().slice(0, 2) : [];
  for (const word of named) {
    const unit = word.length > 1 ? unitOfWord(word) : null;
    if (unit !== null) return unit;
  }
  const said = /\b(?:in|as a) ([A-Za-z$€£%]{1,12})\b|\(([A-Za-z$€£%]{1,12})\)/.exec(
    description.replace(/US dollars?/gi, "USD"),
  );
  return unitOfWord(said?.[1] ?? said?.[2] ?? "") ?? NONE;
}
