/**
 * What tells the time, or leaves things to chance, in the databases that dbt knows; and a dictionary of ClickHouse's,
 * which reloads by itself.
 */
const WORDS = ["current_(?:date|time|timestamp|datetime)", "local_?time(?:stamp)?", "tablesample"];
const FUNCTIONS = [
  "now(?:64|inblock)?",
  "today",
  "yesterday",
  "(?:clock|statement|transaction|utc_?|unix_)_?timestamp",
  "utc_(?:date|time)",
  "timeofday",
  "cur(?:date|time)",
  "get(?:utc)?date",
  "sys(?:date|datetime|timestamp|utcdatetime)",
  "rand\\w*",
  "uniform",
  "newid",
  "gen(?:erate|_random)_?uuid(?:v\\d)?",
  "uuid(?:_generate_\\w+|_string|v\\d)",
  "nextval",
  "dictget\\w*",
];
/** PostgreSQL's `age` asks the clock where it has one argument only. */
const AGE = "age\\s*\\([^,()]*\\)";
const VARIES = new RegExp(`\\b(?:(?:${WORDS.join("|")})\\b|(?:${FUNCTIONS.join("|")})\\s*\\(|${AGE})`, "i");

/**
 * Whether a view with this SQL may show other rows tomorrow although nothing was built: it asks the clock, or chance.
 * Words in comments and names count too: it is better to query once too often than to serve what is old.
 */
export function variesByItself(sql: string): boolean {
  return VARIES.test(sql);
}
