import { cut, STOP_WORDS } from "../search.js";
import { groupsOf } from "./thesaurus.js";

/** Words of names and sentences in one spelling: `last_7d`, `the past seven days` and `last week` have the same word. */
export function wordsOf(text: string): readonly string[] {
  const spaced = text
    .replace(/(\p{Ll})(\p{Lu})/gu, "$1 $2")
    .toLowerCase()
    .replace(/['’]s\b/gu, "")
    .replace(/[^\p{L}\p{M}\p{N}%]+/gu, " ");
  const plain = PHRASES.reduce(
    (all, [phrase, word]) =>
      typeof word === "string" ? all.replace(phrase, word) : all.replace(phrase, word),
    ` ${spaced} `,
  );
  return plain.match(/[\p{L}\p{M}\p{N}%]+/gu) ?? [];
}

const NUMBERS = "one two three four five six seven eight nine ten eleven twelve".split(" ");
const DAYS: Readonly<Record<string, number>> = { d: 1, w: 7, m: 30, y: 365 };

const daysOf = (count: string, unit: string): string =>
  ` ${String(Number(count) * (DAYS[unit.charAt(0)] ?? 1))}days`;

type Phrase = readonly [RegExp, string | ((...found: readonly string[]) => string)];

/** The words for each unit of time, as `hourly` of `by hour`. */
const GRAINS = ["hour", "day", "week", "month", "quarter", "year"].map((unit): Phrase => {
  const grain = unit === "day" ? "daily" : `${unit}ly`;
  const other = unit === "year" ? "|annual(?:ly)?|annuali[sz]ed|whole year" : "";
  const every = `(?:by|per|each|every|an?|in each) (?:the )?${unit}|${unit} by ${unit}`;
  return [new RegExp(` (?:${grain}|${every}${other})(?= )`, "g"), ` ${grain}`];
});

/** Phrases of time and number, one word each. The first comes first. */
const PHRASES: readonly Phrase[] = [
  [
    new RegExp(` (?:${NUMBERS.join("|")})(?= )`, "g"),
    (word = "") => ` ${String(NUMBERS.indexOf(word.trim()) + 1)}`,
  ],
  [/ thirty(?= )/g, " 30"],
  [/ ninety(?= )/g, " 90"],
  [/ half (?:a )?year(?= )/g, " 180 days"],
  [
    / since the (?:start|beginning) of (?:the|this) (week|month|quarter|year)(?= )/g,
    (_, unit = "") => ` ${unit.charAt(0)}td`,
  ],
  [/ (week|month|quarter|year) to date(?= )/g, (_, unit = "") => ` ${unit.charAt(0)}td`],
  [
    / (\d{1,4}) ?(d|days?|w|weeks?|months?|y|years?)(?= )/g,
    (_, count = "", unit = "") => daysOf(count, unit),
  ],
  [
    / (?:past|last|previous|preceding|prior|within a|within the|the) (week|month|year)(?= )/g,
    (_, unit = "") => daysOf("1", unit),
  ],
  [/ (?:yesterday|(?:past|last|previous|prior) day|(?:past|last) 24 hours)(?= )/g, " 1days"],
  [
    / (?:all ?time|ever|since (?:the (?:very )?(?:beginning|start|launch|inception)|launch|inception|genesis)|until now|(?:entire|whole|complete) (?:history|period|time)|life ?time|to date|so far|all in all|whole data|in total|overall)(?= )/g,
    " alltime",
  ],
  [
    / (?:at the moment|right now|at present|as of (?:now|today)|most recent|currently|current|today|now|presently)(?= )/g,
    " latest",
  ],
  ...GRAINS,
  [/ (?:how many|number of|counts? of)(?= )/g, " count"],
  [/ how much(?= )/g, " amount"],
  [/ (?:response|processing|waiting) times?(?= )/g, " latency"],
  [/ dau(?= )/g, " daily active users"],
  [/ wau(?= )/g, " weekly active users"],
  [/ mau(?= )/g, " monthly active users"],
  [/ (?:after|less|minus) (?=(?:fees?|costs?|charges?|taxes|expenses|deductions) )/g, " net "],
  [/ greenhouse gas(?:es)?(?= )/g, " emissions"],
  [/ new (?=(?:customer|user|client|member|account|subscriber)s? )/g, " new signups "],
  [/ (?:given|paid|sent|handed|gave) back(?= )/g, " refunded"],
  [/ market share(?= )/g, " share"],
  [/ %(?= )/g, " percent"],
];

/** Short forms in names. */
const SHORT: Readonly<Record<string, string>> = {
  ...{ cnt: "count", num: "count", nr: "count", pct: "percent", percentage: "percent", avg: "average" },
  ...{ tx: "transaction", txs: "transaction", txn: "transaction", txns: "transaction", qty: "quantity" },
  ...{ amt: "amount", addr: "address", acct: "account", org: "organization", orgs: "organization" },
  ...{ prev: "previous", dist: "distribution", usd: "dollar", eur: "euro" },
};

/** Further words that say nothing of an endpoint. */
const EMPTY = new Set(
  (
    "across also being been both but could doing either he her here him his if just may might more most off only out own she should so " +
    "some still such them then those through too under until up use very want whether while whom whose would versus vs past prior " +
    "previous preceding dbt fct int"
  ).split(" "),
);

/** The common beginning of a word's forms; null for a word that says nothing. */
export function termOf(given: string): string | null {
  const word = Object.hasOwn(SHORT, given) ? (SHORT[given] ?? given) : given;
  return STOP_WORDS.has(word) || EMPTY.has(word) ? null : cut(word);
}

const GROUPS = groupsOf((word) => termOf(word) ?? word);

/** Before the number of a group, so that it is no word. */
export const GROUP = "~";

/** Terms for the groups of words that mean the same. */
export function groupTerms(term: string): readonly string[] {
  return (GROUPS.get(term) ?? []).map((group) => `${GROUP}${String(group)}`);
}

const termsOf = (words: string): ReadonlySet<string> =>
  new Set(words.split(" ").map((word) => termOf(word) ?? word));

/** What an answer looks like, such as a sum. */
const MEASURES = termsOf(
  "count total sum average mean median typical snapshot largest biggest highest smallest lowest top best rate share percent proportion " +
    "part amount value number last first time period date day week month year quarter hour history change current distinct unique " +
    "different individual new size region price cost volume fee name list statistic info data revenue turnover sale money",
);

/** What most questions do. */
const VERBS = termsOf(
  "used using made make exist taken take done turned go going gone been paid see seen know known happen happened available within after " +
    "before during between various accept connected collected offered earned given move whole right put there",
);

const PERIOD = /^(?:hourly|daily|weekly|monthly|quarterly|yearly|alltime|latest|snapshot|\d+days)$/;

/** What a word of a question says of an endpoint: what it is about, what it counts, of which time; or little. */
export type WordKind = "subject" | "measure" | "period" | "verb";

export function kindOf(term: string): WordKind {
  if (PERIOD.test(term)) return "period";
  if (VERBS.has(term)) return "verb";
  return MEASURES.has(term) ? "measure" : "subject";
}

/** Periods that nearly answer for each other. */
const NEAR: readonly (readonly [string, string])[] = [
  ["daily", "1days"],
  ["weekly", "7days"],
  ["monthly", "30days"],
  ["latest", "snapshot"],
];

/** How well an endpoint of some periods answers a question of others, as a factor. */
export function periodFactor(asked: readonly string[], has: readonly string[], isCount: boolean): number {
  if (has.length === 0) return 1;
  if (asked.length === 0)
    return isCount && has.some((each) => /^(?:latest|alltime|snapshot)$/.test(each)) ? 1.1 : 1;
  if (has.some((each) => asked.includes(each))) return 1.15;
  const isNear = NEAR.some(
    (pair) => pair.some((each) => asked.includes(each)) && pair.some((each) => has.includes(each)),
  );
  return isNear ? 0.9 : 0.7;
}
