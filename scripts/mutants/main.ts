/**
 * `npm run mutants`: how many small changes of the sources the quick tests notice. `MUTANTS` of them, 100 unless given, are
 * chosen by `MUTANT_SEED`. One run with marks says which quick tests run its place. Each runs against those that load its file, the
 * nearest first, then against those that start the built command, up to the first failure. What is known is kept in `.data/mutants-<seed>-<commit>.jsonl`: the next call goes
 * on from there. `npm run mutants -- rest` runs those that survived against the rest in the same way. `npm run mutants -- equivalent
 * <number> <reason>` records one that no input can tell apart; another replaces it. On a busy machine `MUTANT_RUN_MINUTES` (15) gives a
 * run more time, and `VITEST_MAX_WORKERS` fewer workers.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { resolve } from "node:path";
import { filesOf, filesOnClickhouse, type TestSet } from "../../tests/support/test-sets.js";
import { Copy } from "./copy.js";
import { loadedBy } from "../loaded-by.js";
import { type Place, UNKNOWN, withMarks } from "./marks.js";
import { type Mutation, mutationsOf, withMutation } from "./mutations.js";

interface Mutant extends Mutation {
  /** Its place in the order that the seed gives. */
  readonly number: number;
  readonly file: string;
}

interface Result {
  readonly number: number;
  readonly outcome:
    "caught" | "caught by the rest" | "survived" | "survived all" | "does not compile" | "equivalent";
  /** Where it is and what it changes. */
  readonly mutant: string;
  /** The test file that failed, or why no input can tell it apart. */
  readonly by?: string;
}

/** Files in the first run: most mutants end there. */
const NEAREST = 8;
const COUNTED: ReadonlySet<Result["outcome"]> = new Set([
  "caught",
  "caught by the rest",
  "survived",
  "survived all",
]);

const count = Number(process.env["MUTANTS"] ?? 100);
const seed = Number(process.env["MUTANT_SEED"] ?? 1);
/** The order is that of one state of the sources. */
const commit = execFileSync("git", ["log", "-1", "--format=%h", "--", "generator", "runtime"], {
  encoding: "utf8",
});
const kept = `.data/mutants-${String(seed)}-${commit.trim()}.jsonl`;
/** By a mutant's number the quick test files that run its place. */
const keptReached = kept.replace(/jsonl$/, "reached.json");
/** Some of those that are marked do not compile. */
const marked = Math.ceil(count * 1.6);
const startsCommand = (file: string): boolean =>
  /support\/commands?\.js|node:child_process/.test(readFileSync(file, "utf8"));
/** Test files that fail without a mutant here. */
const failing = new Set<string>();
/** Test files that pass without one. */
const green = new Set<string>();

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
const [command, number, ...reason] = process.argv.slice(2);
if (command === "equivalent") {
  const known = resultsOf().get(Number(number));
  if (!known || reason.length === 0)
    throw new Error("Name a mutant that has run, and why: equivalent 12 <reason>");
  keep({ ...known, outcome: "equivalent", by: reason.join(" ") });
} else if (command === "rest") await runSurvivors();
else await runMutants();
report();

async function runMutants(): Promise<void> {
  mkdirSync(".data", { recursive: true });
  const mutants = inOrder();
  const isDone = (): boolean => counted().length >= count;
  if (isDone()) return;
  const copy = await Copy.make(process.cwd(), resolve(".data/mutants"));
  if (!existsSync(keptReached)) await keepReached(copy, mutants.slice(0, marked));
  for (const mutant of mutants) {
    if (isDone()) return;
    if (resultsOf().has(mutant.number)) continue;
    const result = await resultOf(copy, mutant);
    keep(result);
    console.log(lineOf(result));
  }
}

/** Code that runs once, when its file is loaded, has no mark: any test that loads the file may notice its mutant. */
async function keepReached(copy: Copy, mutants: readonly Mutant[]): Promise<void> {
  const places = mutants.filter((mutant): mutant is Mutant & Place => mutant.expression !== null);
  const files = [...new Set(places.map(({ file }) => file))];
  const sources = files.map((file) => {
    const own = places.filter((place) => place.file === file);
    return [file, withMarks(readFileSync(file, "utf8"), own, copy.marks)] as const;
  });
  const reached = await copy.reachedBy(new Map(sources.map(([file, { text }]) => [file, text])), "quick");
  const numbers = sources.flatMap(([, marked]) => marked.numbers);
  writeFileSync(
    keptReached,
    JSON.stringify(Object.fromEntries(numbers.map((number) => [number, reached[number] ?? []]))),
  );
}

/** Whether a quick test file may notice a mutant. */
function mayNotice({ number }: Mutant): (test: string) => boolean {
  const all = JSON.parse(readFileSync(keptReached, "utf8")) as Readonly<Record<string, readonly string[]>>;
  const reached = all[number];
  if (reached === undefined) return () => true;
  const isUnknown = reached.includes(UNKNOWN);
  return (test) => reached.includes(test) || (isUnknown && startsCommand(test));
}

async function runSurvivors(): Promise<void> {
  const survivors = new Set(
    [...resultsOf().values()].filter(({ outcome }) => outcome === "survived").map(({ number }) => number),
  );
  if (survivors.size === 0) return;
  const copy = await Copy.make(process.cwd(), resolve(".data/mutants"));
  for (const mutant of inOrder().filter(({ number }) => survivors.has(number))) {
    const result = await resultOf(copy, mutant, "rest");
    keep(result);
    console.log(lineOf(result));
  }
}

async function resultOf(copy: Copy, mutant: Mutant, set: "quick" | "rest" = "quick"): Promise<Result> {
  const source = readFileSync(mutant.file, "utf8");
  const known = { number: mutant.number, mutant: described(mutant, source) };
  const mutated = withMutation(source, mutant);
  const run = await copy.with(mutant.file, mutated, async () =>
    (await copy.compiles()) ? { failed: await failureOf(copy, mutant, set) } : null,
  );
  if (run === null) return { ...known, outcome: "does not compile" };
  const isQuick = set === "quick";
  if (run.failed === null) return { ...known, outcome: isQuick ? "survived" : "survived all" };
  if (!run.failed.startsWith("(") && !(await isGreen(copy, run.failed, set)))
    return resultOf(copy, mutant, set);
  return { ...known, outcome: isQuick ? "caught" : "caught by the rest", by: run.failed };
}

async function failureOf(copy: Copy, mutant: Mutant, set: "quick" | "rest"): Promise<string | null> {
  const may = set === "quick" ? mayNotice(mutant) : () => true;
  const usable = withLater(set).filter((test) => !failing.has(test) && may(test));
  const related = loadedBy(
    process.cwd(),
    usable.filter((test) => !startsCommand(test)),
    mutant.file,
  );
  for (const some of [related.slice(0, NEAREST), related.slice(NEAREST)]) {
    const failed = await copy.failureOf(some, set);
    if (failed !== null) return failed;
  }
  const commands = usable.filter(startsCommand);
  return commands.length === 0 ? null : copy.withBuild(() => copy.failureOf(commands, set));
}

/** Files of a set, and those that it runs on ClickHouse alone. */
function withLater(set: TestSet): readonly string[] {
  return [...new Set([...filesOf(set), ...filesOnClickhouse(set)])];
}

/** Whether a test file passes without a mutant. */
async function isGreen(copy: Copy, file: string, set: TestSet): Promise<boolean> {
  if (!green.has(file)) ((await copy.failureOf([file], set)) === null ? green : failing).add(file);
  return green.has(file);
}

/** All mutants in the order of the seed. */
function inOrder(): readonly Mutant[] {
  const sources = execFileSync("git", ["ls-files", "generator/*.ts", "runtime/*.ts"], { encoding: "utf8" });
  const all = sources
    .trim()
    .split("\n")
    .filter((file) => existsSync(file))
    .flatMap((file) => mutationsOf(readFileSync(file, "utf8")).map((mutation) => ({ ...mutation, file })));
  const next = randomNumbers(seed);
  return all
    .map((mutation) => ({ mutation, place: next() }))
    .sort((a, b) => a.place - b.place)
    .map(({ mutation }, at) => ({ ...mutation, number: at + 1 }));
}

/** Numbers from 0 to 1 (xorshift32). */
function randomNumbers(start: number): () => number {
  let state = (start * 0x9e3779b9) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

/** By number; of two results of one mutant the last. */
function resultsOf(): ReadonlyMap<number, Result> {
  const lines = existsSync(kept) ? readFileSync(kept, "utf8").trim().split("\n") : [];
  const results = lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Result);
  return new Map(results.map((result) => [result.number, result]));
}

function keep(result: Result): void {
  appendFileSync(kept, `${JSON.stringify(result)}\n`);
}

function counted(): readonly Result[] {
  return [...resultsOf().values()].filter(({ outcome }) => COUNTED.has(outcome));
}

function described({ file, start, end, text, kind }: Mutant, source: string): string {
  const line = source.slice(0, start).split("\n").length;
  const short = (code: string): string => code.replace(/\s+/g, " ").slice(0, 60);
  return `${file}:${String(line)} ${kind}: ${short(source.slice(start, end))} → ${short(text)}`;
}

function lineOf({ number, outcome, mutant, by }: Result): string {
  return `${String(number).padStart(4)} ${outcome}${by === undefined ? "" : ` (${by})`}: ${mutant}`;
}

function report(): void {
  const results = [...resultsOf().values()].sort((a, b) => a.number - b.number);
  for (const result of results) if (result.outcome !== "caught") console.log(lineOf(result));
  const countOf = (wanted: Result["outcome"]): number =>
    results.filter(({ outcome }) => outcome === wanted).length;
  const [caught, later] = [countOf("caught"), countOf("caught by the rest")];
  console.log(
    `The quick tests caught ${String(caught)} of ${String(counted().length)} mutants, with the rest ${String(caught + later)}; ${String(countOf("survived"))} have not run against the rest.`,
  );
}
