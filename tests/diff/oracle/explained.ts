const NEW_ENDPOINT = "A new endpoint is published on purpose; at tier0 over private data it is exposing.";
const PROMISE = "The answers are the same; what falls is the promise how old their rows are at most.";
const ON_FAILED_TESTS = "The answers are the same while no test of dbt has failed.";
const MOVED = "The old path answers as before; its headers name the new one.";
const ENDS = "The answers are the same until the time that is announced.";
const OTHER_RELATION =
  "Whether another relation has the same rows is not in the manifest: a renamed model or a moved schema has.";
const PRIVATE_NEAR = "The new column may hold the private data under another name.";
const UNMARKED =
  "Callers read the same rows; what falls is the mark that keeps the values out of lists and documents and asks for a tier.";
const TESTS_WATCH = "A dbt test watches the data and does not shape it: only the documented type is wider.";
const LATER = "Only the date in the Sunset header is later.";

const NO_OWN_ROWS =
  "No row of the test's caller is in either column: which rows these are, only the data say.";

const OUT_OF_RANGE = "Values may leave the documented range; the rows have none that do.";
const DIGITS =
  "A number may have more digits than a JavaScript number holds; the rows have none that do, and typed clients have a number before and after.";
const REGENERATED =
  "Requests get the same answers; types that openapi-typescript makes anew are stricter: a list for a value, columns that may be left out.";
const ANY_TEXT = "The column may hold any text; the rows have none but the documented ones.";
const ENUM = "Enum8('paid' = 1, 'open' = 2, 'void' = 3)";

/** Those of types that only ClickHouse has. */
export const EXPLAINED_ON_CLICKHOUSE: Readonly<Record<string, string>> = {
  "column quantity of UInt32 becomes UInt64 →": DIGITS,
  "column quantity of UInt32 becomes UInt64 ←": DIGITS,
  "column quantity of UInt32 becomes Int32 →": OUT_OF_RANGE,
  "column quantity of UInt32 becomes Int32 ←": OUT_OF_RANGE,
  "column quantity of Int64 becomes UInt64 →": OUT_OF_RANGE,
  "column quantity of Int64 becomes UInt64 ←": OUT_OF_RANGE,
  "column labels of Array(Int32) becomes Array(UInt64) →": OUT_OF_RANGE,
  "column labels of Array(Int32) becomes Array(UInt64) ←": OUT_OF_RANGE,
  "column day of Date becomes String →": ANY_TEXT,
  [`column status of ${ENUM} becomes LowCardinality(String) →`]: ANY_TEXT,
};

/** Where a caller notices more than is said of its shape. */
export const EXPLAINED_SHAPES: Readonly<Record<string, string>> = {
  "no column is declared any more →": "Without declared columns the rows of the test keep no promise.",
};

/** Where `diff` and what is served disagree on purpose, with the reason; `→` is forwards, `←` backwards. */
export const EXPLAINED: Readonly<Record<string, string>> = {
  "column amount becomes numeric(10,4) →": DIGITS,
  "column amount becomes numeric(10,4) ←": DIGITS,
  "column quantity becomes bigint →": DIGITS,
  "column quantity becomes bigint ←": DIGITS,
  "= becomes IN →": REGENERATED,
  "columns can be chosen →": REGENERATED,
  "the model is served by group, too →": REGENERATED,
  "rows are kept apart by another column →": NO_OWN_ROWS,
  "rows are kept apart by another column ←": NO_OWN_ROWS,
  "a column appears on a model with a private one →": PRIVATE_NEAR,
  "a column appears beside one that is private in a model above →": PRIVATE_NEAR,
  "the mark of a private column goes →": UNMARKED,
  "the mark of a private column goes, and callers filter by it →": UNMARKED,
  "the tier tag is misspelt: the model is skipped, never served to everybody ←": NEW_ENDPOINT,
  "a model with a private column is published at tier3 →": NEW_ENDPOINT,
  "the model is no longer published ←": NEW_ENDPOINT,
  "the rows are promised to be fresh ←": PROMISE,
  "rows are refused while a test fails ←": ON_FAILED_TESTS,
  "the rows may be older →": PROMISE,
  "dbt calls rows an error later →": PROMISE,
  "the rows are promised for a later time of day →": PROMISE,
  "the rows are promised in another zone →": PROMISE,
  "the rows are promised in another zone ←": PROMISE,
  "the endpoint becomes a preview →":
    "The answers are the same; what falls is the promise that they stay so.",
  "the endpoint goes after its sunset →": "The announced date has passed.",
  "the endpoint goes after its sunset ←": NEW_ENDPOINT,
  "the path moves and the old one answers long enough →": MOVED,
  "an old path goes on its sunset →": "The announced date has passed.",
  "the model is excluded ←": NEW_ENDPOINT,
  "the model becomes invalid ←": NEW_ENDPOINT,
  "the alias names the relation of a private source ←": OTHER_RELATION,
  "the alias names a source with a private column ←": OTHER_RELATION,
  "another model serves the path →": OTHER_RELATION,
  "another model serves the path ←": OTHER_RELATION,
  "the schema changes →": OTHER_RELATION,
  "the schema changes ←": OTHER_RELATION,
  "the alias changes →": OTHER_RELATION,
  "the alias changes ←": OTHER_RELATION,
  "no column is declared any more ←":
    "Which columns a relation has beyond the declared ones is not in the manifest.",
  "a second accepted_values test allows fewer ←": TESTS_WATCH,
  "accepted_values is narrowed ←": TESTS_WATCH,
  "the accepted_values test goes →": TESTS_WATCH,
  "a filtered column gets an accepted_values test ←": TESTS_WATCH,
  "a not_null test goes →": TESTS_WATCH,
  "the fixed sort gets a tie-breaker ←": "Tied rows have no order any more; the database happens to keep it.",
  "a sunset is brought forward in time ←": LATER,
  "a sunset is brought forward below the notice ←": LATER,
  "calls will get 410 in time →": ENDS,
  "calls will get 410 too soon →": ENDS,
  "calls get 410 later ←": ENDS,
  "another version is the latest →": OTHER_RELATION,
  "another version is the latest ←": OTHER_RELATION,
  "pages follow each other by cursor →": "Only the Link header differs: it names the next page by cursor.",
  "a newer version of the model appears →": "Only the Link header differs: it names the newer version.",
};
