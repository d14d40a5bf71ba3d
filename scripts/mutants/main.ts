/**
 * `npm run mutants`: how many small changes of the sources the quick tests notice. `MUTANTS` of them, 100 unless given, are chosen by
 * `MUTANT_SEED`. A copy of the last commit is built once, with a switch for each mutant that compiles (`switches.ts`). All quick tests
 * run once with every switch off, which says which of them run its place. Then each mutant runs against those, the nearest first and
 * those that start the built command last, up to the first failure that comes again with the mutant and not without it. A mutant whose
 * place the build runs is built, and runs against all of them. What is known is kept in `.data/mutants`: results by the commit of the
 * sources, copies and what tests cover by the last commit. The next call goes on from there. `npm run mutants -- rest` runs those that
 * survived against the rest, each built alone, since pages in a browser have no switches. `npm run mutants -- equivalent <number>
 * <reason>` records one that no input can tell apart; the next call runs a further mutant in its stead. `MUTANT_JOBS` run at a time,
 * each in a copy of its own. On a busy machine `MUTANT_RUN_MINUTES` (15) gives a run more time, and `VITEST_MAX_WORKERS` fewer workers.
 */
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { execFileSync } from "node:child_process";
import { join, resolve } from "node:path";
import { compilingOf } from "./compiling.js";
import { Copy } from "./copy.js";
import { type Covered, keepCoverage, keptCoverage, readCoverage } from "./coverage.js";
import { described, lineOf, Results, type Result } from "./results.js";
import { quickRuns, restRuns } from "./runs.js";
import { withSwitches } from "./switches.js";
import { type Mutant, noticed, sourceOf, switchOf, type Trial } from "./trial.js";
import { mutationsOf, withMutation } from "./mutations.js";

/** Candidates for each that is wanted: three in ten do not compile, and some are equal to the original. */
const MORE = 1.7;
/** From a grammar. */
const GENERATED = "runtime/filter/parser.ts";

const git = (...args: readonly string[]): string => execFileSync("git", args, { encoding: "utf8" }).trim();
const count = Number(process.env["MUTANTS"] ?? 100);
const seed = String(Number(process.env["MUTANT_SEED"] ?? 1));
const jobs = Number(process.env["MUTANT_JOBS"] ?? 1);
const KEPT = resolve(".data/mutants");
/** The order is that of one state of the sources. */
const results = new Results(
  join(KEPT, `${seed}-${git("log", "-1", "--format=%h", "--", "generator", "runtime")}.jsonl`),
);
/** Copies are of one commit, whose tests cover what they cover. */
const folder = join(KEPT, `${seed}-${git("rev-parse", "--short", "HEAD")}`);
const keptCovered = join(folder, "covered.json");

for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
const [command, number, ...reason] = process.argv.slice(2);
if (git("status", "--porcelain", "--", "generator", "runtime", "tests") !== "")
  throw new Error("Commit what you have changed: mutants are those of the last commit.");
if (command === "equivalent") {
  const known = results.known.get(Number(number));
  if (!known || reason.length === 0)
    throw new Error("Name a mutant that has run, and why: equivalent 12 <reason>");
  results.keep({ ...known, outcome: "equivalent", by: reason.join(" ") });
} else if (command === "rest") await runSurvivors();
else await runMutants();
results.report();

async function runMutants(): Promise<void> {
  const isDone = (): boolean => results.counted >= count;
  if (isDone()) return;
  const candidates = inOrder().slice(0, Math.ceil(count * MORE));
  const [first, covered] = await prepared(candidates);
  const failing = covered.read.filter((test) => !covered.passing.includes(test));
  if (failing.length > 0) console.log(`Without a mutant these fail, and say nothing: ${failing.join(" ")}`);
  const left = candidates.filter(({ number }) => number in covered.places && !results.known.has(number));
  const run = async (copy: Copy): Promise<void> => {
    for (let mutant = left.shift(); mutant && !isDone(); mutant = left.shift())
      await runQuick(copy, mutant, covered);
  };
  const copies = [first];
  while (copies.length < jobs) copies.push((await switchedCopy(copies.length + 1, switchedOf(covered)))[0]);
  await Promise.all(copies.map(run));
}

/** A copy with a switch for each candidate that compiles, and which tests cover them. */
async function prepared(candidates: readonly Mutant[]): Promise<readonly [Copy, Covered]> {
  const kept = keptCoverage(keptCovered, candidates.length);
  if (!kept) removeOthers();
  const switched = kept ? switchedOf(kept) : switchedIn(candidates);
  const [copy, built] = await switchedCopy(1, switched);
  const uncovered = switched.map(({ number }) => [number, { tests: [], isAtLoad: false }] as const);
  const places = Object.fromEntries(uncovered);
  const covered = kept ?? { upTo: candidates.length, places, built, read: [], passing: [] };
  keepCoverage(keptCovered, covered);
  return [copy, await readCoverage(keptCovered, copy, covered)];
}

/** Copies of commits before. */
function removeOthers(): void {
  for (const name of existsSync(KEPT) ? readdirSync(KEPT) : [])
    if (name.startsWith(`${seed}-`) && !name.endsWith(".jsonl"))
      rmSync(join(KEPT, name), { recursive: true });
}

function switchedOf({ places }: Covered): readonly Mutant[] {
  return inOrder().filter(({ number }) => number in places);
}

/** Candidates that compile and whose place can have a switch. */
function switchedIn(candidates: readonly Mutant[]): readonly Mutant[] {
  const changed = candidates
    .filter(({ number }) => results.known.get(number)?.outcome !== "does not compile")
    .map((mutant) => ({ ...mutant, whole: withMutation(readFileSync(mutant.file, "utf8"), mutant) }));
  const compiling = new Set(compilingOf(changed).map(({ number }) => number));
  const some = candidates.filter(({ number }) => compiling.has(number));
  const switched = new Set(sourcesOf(some, folder).flatMap(([, { numbers }]) => numbers));
  for (const mutant of candidates.filter(({ number }) => !switched.has(number) && !results.known.has(number)))
    results.keep({
      number: mutant.number,
      mutant: described(mutant),
      outcome: compiling.has(mutant.number) ? "has no switch" : "does not compile",
    });
  return some.filter(({ number }) => switched.has(number));
}

function sourcesOf(
  mutants: readonly Mutant[],
  switches: string,
): readonly (readonly [string, ReturnType<typeof withSwitches>])[] {
  return [...new Set(mutants.map(({ file }) => file))].map((file) => {
    const own = mutants.filter((mutant) => mutant.file === file);
    return [file, withSwitches(readFileSync(file, "utf8"), own, switches)];
  });
}

/** A copy that is built with these switches, and the numbers of those that the build runs if it is built now. */
async function switchedCopy(
  at: number,
  switched: readonly Mutant[],
): Promise<readonly [Copy, readonly number[]]> {
  const name = switched.map(({ number }) => number).join(" ");
  const own = join(folder, String(at));
  const known = new Copy(own, name);
  if (known.isReady) return [known, []];
  const copy = Copy.make(process.cwd(), own, name);
  const sources = sourcesOf(switched, copy.switches).map(([file, { text }]) => [file, text] as const);
  return [copy, await copy.switched(new Map(sources))];
}

async function runQuick(copy: Copy, mutant: Mutant, covered: Covered): Promise<void> {
  const turn = switchOf(copy, mutant, covered.built.includes(mutant.number));
  const runs = quickRuns(mutant, covered);
  if (runs.length === 0) keep({ number: mutant.number, mutant: described(mutant), outcome: "not covered" });
  else await run(mutant, { copy, set: "quick", turn, runs }, ["caught", "survived"]);
}

async function runSurvivors(): Promise<void> {
  const outcomes: readonly (Result["outcome"] | undefined)[] = ["survived", "not covered"];
  const survivors = inOrder().filter(({ number }) => outcomes.includes(results.known.get(number)?.outcome));
  if (survivors.length === 0) return;
  const copy = Copy.make(process.cwd(), join(folder, "rest"), "rest");
  for (const mutant of survivors) {
    const trial = { copy, set: "rest", turn: sourceOf(copy, mutant), runs: restRuns(mutant.file) } as const;
    await run(mutant, trial, ["caught by the rest", "survived all"]);
  }
}

async function run(
  mutant: Mutant,
  trial: Trial,
  [caught, survived]: readonly [Result["outcome"], Result["outcome"]],
): Promise<void> {
  const { by, leftOut } = await noticed(trial);
  const known = { number: mutant.number, mutant: described(mutant), ...(leftOut.length > 0 && { leftOut }) };
  keep(by === null ? { ...known, outcome: survived } : { ...known, outcome: caught, by });
}

function keep(result: Result): void {
  results.keep(result);
  console.log(lineOf(result));
}

/** All mutants in the order of the seed. */
function inOrder(): readonly Mutant[] {
  const all = git("ls-files", "generator/*.ts", "runtime/*.ts")
    .split("\n")
    .filter((file) => file !== GENERATED)
    .flatMap((file) => mutationsOf(readFileSync(file, "utf8")).map((mutation) => ({ ...mutation, file })));
  const next = randomNumbers(Number(seed));
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
