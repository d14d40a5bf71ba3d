/**
 * `npm run mutants`: how many small changes of the sources the quick tests notice. `MUTANTS` of them, 100 unless given, are chosen by
 * `MUTANT_SEED`. A copy of the sources is built once, with a switch for each mutant that compiles (`switches.ts`). All quick tests run
 * once with every switch off, which says which of them run its place. Then each mutant runs against those, the nearest first and those
 * that start the built command last, up to the first failure. What is known is kept in `.data/mutants-<seed>-<commit>.jsonl`: the next
 * call goes on from there. `npm run mutants -- rest` runs those that survived against the rest, each built alone, since pages in a
 * browser have no switches. `npm run mutants -- equivalent <number> <reason>` records one that no input can tell apart; another
 * replaces it. `MUTANT_JOBS` run at a time, each in a copy of its own. On a busy machine `MUTANT_RUN_MINUTES` (15) gives a run more
 * time, and `VITEST_MAX_WORKERS` fewer workers.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { resolve } from "node:path";
import { filesOf, filesOnClickhouse, type TestSet } from "../../tests/support/test-sets.js";
import { compilingOf } from "./compiling.js";
import { Copy } from "./copy.js";
import { loadedBy } from "../loaded-by.js";
import { UNKNOWN, withSwitches } from "./switches.js";
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
/** Candidates for each that is wanted: three in ten do not compile, and some are equal to the original. */
const MORE = 1.7;
/** Test files of a run that notes places: a call that ends before its time loses no more. */
const AT_A_TIME = 40;
const FOLDER = ".data/mutants";
/** From a grammar. */
const GENERATED = "runtime/filter/parser.ts";
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
const jobs = Number(process.env["MUTANT_JOBS"] ?? 1);
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
  const isDone = (): boolean => counted().length >= count;
  if (isDone()) return;
  const candidates = inOrder().slice(0, Math.ceil(count * MORE));
  const first = new Copy(resolve(FOLDER, "1"));
  if (!existsSync(keptReached)) await prepare(candidates);
  await readReached(first);
  const { places } = reached();
  const left = candidates.filter(({ number }) => number in places && !resultsOf().has(number));
  const run = async (copy: Copy): Promise<void> => {
    for (let mutant = left.shift(); mutant && !isDone(); mutant = left.shift()) {
      const result = await resultOf(copy, mutant);
      keep(result);
      console.log(lineOf(result));
    }
  };
  const others = Array.from({ length: jobs - 1 }, (_, at) => first.again(resolve(FOLDER, String(at + 2))));
  await Promise.all([first, ...others].map(run));
}

/** Builds a copy with a switch for each candidate that compiles. */
async function prepare(candidates: readonly Mutant[]): Promise<void> {
  const copy = Copy.make(process.cwd(), resolve(FOLDER, "1"));
  const changed = candidates.map((mutant) => ({
    ...mutant,
    whole: withMutation(readFileSync(mutant.file, "utf8"), mutant),
  }));
  const compiling = compilingOf(changed);
  const files = [...new Set(compiling.map(({ file }) => file))];
  const sources = files.map((file) => {
    const own = compiling.filter((place) => place.file === file);
    return [file, withSwitches(readFileSync(file, "utf8"), own, copy.notes)] as const;
  });
  const switched = new Map(sources.map(([file, { text }]) => [file, text]));
  await copy.switched(switched);
  const numbers = sources.flatMap(([, { numbers }]) => numbers);
  for (const mutant of candidates.filter(({ number }) => !numbers.includes(number)))
    keep({ number: mutant.number, mutant: described(mutant), outcome: "does not compile" });
  const places = Object.fromEntries(numbers.map((number) => [number, []]));
  writeFileSync(keptReached, JSON.stringify({ places, passing: [], read: [] }));
}

/** Runs all quick tests, some at a time, with every switch off. */
async function readReached(copy: Copy): Promise<void> {
  const { passing, places, read } = reached();
  const left = filesOf("quick").filter((file) => !read.includes(file));
  if (left.length === 0) return;
  const some = left.slice(0, AT_A_TIME);
  const green = await copy.passing(some, "quick");
  const ran = copy.reached();
  const now = Object.keys(places).map((number) => [number, ran[number] ?? []] as const);
  const kept = { places: Object.fromEntries(now), passing: [...passing, ...green], read: [...read, ...some] };
  writeFileSync(keptReached, JSON.stringify(kept));
  await readReached(copy);
}

interface KeptReached {
  readonly places: Readonly<Record<number, readonly string[]>>;
  /** Test files that pass without a mutant. */
  readonly passing: readonly string[];
  /** Test files that have run. */
  readonly read: readonly string[];
}

function reached(): KeptReached {
  const kept = JSON.parse(readFileSync(keptReached, "utf8")) as KeptReached;
  kept.passing.forEach((file) => green.add(file));
  return kept;
}

/** Whether a quick test file may notice a mutant. Any that loads its file may, if it runs as the file is loaded. */
function mayNotice({ number, isOfLoading }: Mutant): (test: string) => boolean {
  const own = reached().places[number] ?? [];
  const isUnknown = own.includes(UNKNOWN);
  return (test) => isOfLoading || own.includes(test) || (isUnknown && startsCommand(test));
}

async function runSurvivors(): Promise<void> {
  const survivors = inOrder().filter(({ number }) => resultsOf().get(number)?.outcome === "survived");
  if (survivors.length === 0) return;
  const copy = Copy.make(process.cwd(), resolve(FOLDER, "rest"));
  for (const mutant of survivors) {
    const text = withMutation(readFileSync(mutant.file, "utf8"), mutant);
    const result = await copy.with(new Map([[mutant.file, text]]), async () => {
      await copy.build();
      return resultOf(copy, mutant, "rest");
    });
    keep(result);
    console.log(lineOf(result));
  }
}

async function resultOf(copy: Copy, mutant: Mutant, set: "quick" | "rest" = "quick"): Promise<Result> {
  const known = { number: mutant.number, mutant: described(mutant) };
  const failed = await failureOf(copy, mutant, set);
  const isQuick = set === "quick";
  if (failed === null) return { ...known, outcome: isQuick ? "survived" : "survived all" };
  if (!failed.startsWith("(") && isQuick && !(await isGreen(copy, failed)))
    return resultOf(copy, mutant, set);
  return { ...known, outcome: isQuick ? "caught" : "caught by the rest", by: failed };
}

async function failureOf(copy: Copy, mutant: Mutant, set: "quick" | "rest"): Promise<string | null> {
  const may = set === "quick" ? mayNotice(mutant) : () => true;
  const usable = withLater(set).filter((test) => !failing.has(test) && may(test));
  const related = loadedBy(
    process.cwd(),
    usable.filter((test) => !startsCommand(test)),
    mutant.file,
  );
  const commands = usable.filter(startsCommand);
  for (const some of [related.slice(0, NEAREST), related.slice(NEAREST), commands]) {
    const failed = await copy.failureOf(some, set, set === "quick" ? mutant.number : null);
    if (failed !== null) return failed;
  }
  return null;
}

/** Files of a set, and those that it runs on ClickHouse alone. */
function withLater(set: TestSet): readonly string[] {
  return [...new Set([...filesOf(set), ...filesOnClickhouse(set)])];
}

/** Whether a test file passes without a mutant. */
async function isGreen(copy: Copy, file: string): Promise<boolean> {
  if (!green.has(file)) ((await copy.failureOf([file], "quick", null)) === null ? green : failing).add(file);
  return green.has(file);
}

/** All mutants in the order of the seed. */
function inOrder(): readonly Mutant[] {
  const sources = execFileSync("git", ["ls-files", "generator/*.ts", "runtime/*.ts"], { encoding: "utf8" });
  const all = sources
    .trim()
    .split("\n")
    .filter((file) => existsSync(file) && file !== GENERATED)
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

function described({ file, expression: { start, end }, text, kind }: Mutant): string {
  const source = readFileSync(file, "utf8");
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
