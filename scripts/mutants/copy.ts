import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { TestSet } from "../../tests/support/test-sets.js";
import { reachedIn, setUpFor, SWITCHED_ON } from "./switches.js";

/** A run of tests that takes longer is in a loop that the mutant made, unless the machine is busy. */
const RUN_MS = Number(process.env["MUTANT_RUN_MINUTES"] ?? 15) * 60_000;
const SET_UP = "tests/support/read-statements.ts";
const VITEST = ["npx", "vitest", "run", "--config", "tests/vitest.config.ts"];

interface Ended {
  readonly code: number | null;
  /** Whether a signal ended it, as after `RUN_MS`. */
  readonly isStopped: boolean;
  readonly output: string;
}

interface FileResult {
  readonly name: string;
  readonly status: string;
}

/** A copy of the repository's last commit with its own `dist/`, so that nobody's sources change. */
export class Copy {
  readonly root: string;

  constructor(folder: string) {
    this.root = join(folder, "tree");
  }

  /** Replaces what a run before left in the folder. */
  static make(repository: string, folder: string): Copy {
    const copy = new Copy(folder);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(join(copy.root, "node_modules"), { recursive: true });
    execFileSync("sh", ["-c", `git archive HEAD | tar -x -C "${copy.root}"`], { cwd: repository });
    // Tests list the repository's files.
    execFileSync("sh", ["-c", "git init -q && git add -A"], { cwd: copy.root });
    linkModules(repository, copy.root);
    return copy;
  }

  /** The same copy in a second folder, so that two mutants run at a time. */
  again(folder: string): Copy {
    const copy = new Copy(folder);
    rmSync(folder, { recursive: true, force: true });
    cpSync(this.root, copy.root, { recursive: true, verbatimSymlinks: true });
    linkWorkspace(copy.root);
    return copy;
  }

  /** Does something while files have another text, and puts them back. */
  async with<Result>(texts: ReadonlyMap<string, string>, work: () => Promise<Result>): Promise<Result> {
    const originals = new Map([...texts.keys()].map((file) => [file, this.#read(file)] as const));
    this.write(texts);
    try {
      return await work();
    } finally {
      this.write(originals);
    }
  }

  write(texts: ReadonlyMap<string, string>): void {
    for (const [file, text] of texts) writeFileSync(join(this.root, file), text);
  }

  #read(file: string): string {
    return readFileSync(join(this.root, file), "utf8");
  }

  /** Where switches note what runs. */
  get notes(): string {
    return join(this.root, ".data/reached");
  }

  /** Builds with switches, which are off until a run turns one on. */
  async switched(sources: ReadonlyMap<string, string>): Promise<void> {
    mkdirSync(this.notes, { recursive: true });
    this.write(new Map([...sources, [SET_UP, this.#read(SET_UP) + setUpFor(this.notes)]]));
    await this.build();
  }

  /** Of some test files those that pass with all switches off. They note which places they run. */
  async passing(files: readonly string[], set: TestSet): Promise<readonly string[]> {
    const results = (await this.#results(files, set, null)) ?? [];
    const named = results.map(({ name, status }) => [name.slice(this.root.length + 1), status] as const);
    const failing = new Set(named.filter(([, status]) => status !== "passed").map(([file]) => file));
    return [...new Set(named.map(([file]) => file))].filter((file) => !failing.has(file));
  }

  /** Test files by the number of a place, as far as they have run. */
  reached(): Readonly<Record<string, readonly string[]>> {
    return reachedIn(this.notes, this.root);
  }

  async build(): Promise<void> {
    const { code, output } = await this.#run(["npm", "run", "--silent", "build"]);
    if (code !== 0) throw new Error(`The sources cannot be built:\n${output}`);
  }

  /** The first of these test files that fails, on the engines that the set runs them on; null if none does. */
  async failureOf(files: readonly string[], set: TestSet, mutant: number | null): Promise<string | null> {
    if (files.length === 0) return null;
    const results = await this.#results(files, set, mutant);
    if (results === null) return "(no end)";
    const failed = results.find(({ status }) => status === "failed");
    return failed ? failed.name.slice(this.root.length + 1) : null;
  }

  /** Null if the run was stopped. */
  async #results(
    files: readonly string[],
    set: TestSet,
    mutant: number | null,
  ): Promise<readonly FileResult[] | null> {
    const written = join(this.root, ".data/results.json");
    rmSync(written, { force: true });
    const reporter = [
      ...(mutant === null ? [] : ["--bail", "1"]),
      "--reporter=json",
      "--outputFile",
      written,
    ];
    const env = { TEST_SET: set, ...(mutant !== null && { [SWITCHED_ON]: String(mutant) }) };
    const { code, isStopped, output } = await this.#run([...VITEST, ...reporter, ...files], env);
    if (isStopped) return null;
    if (!existsSync(written)) throw new Error(`The test runner gave no results:\n${output}`);
    const { testResults } = JSON.parse(readFileSync(written, "utf8")) as { testResults: FileResult[] };
    const hasFailed = testResults.some(({ status }) => status === "failed");
    const outside = { name: join(this.root, "(outside of the tests)"), status: "failed" };
    return code === 0 || hasFailed ? testResults : [...testResults, outside];
  }

  async #run(
    [program = "", ...args]: readonly string[],
    more: Readonly<Record<string, string>> = {},
  ): Promise<Ended> {
    const env = { ...process.env, ...more };
    // A group of its own, which ends as one.
    const child = spawn(program, args, {
      cwd: this.root,
      env,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk) => (output = (output + String(chunk)).slice(-1_000_000)));
    const end = (): void => {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    };
    const timer = setTimeout(end, RUN_MS);
    process.once("exit", end);
    const [code] = (await once(child, "close")) as [number | null];
    process.off("exit", end);
    clearTimeout(timer);
    return { code, output, isStopped: code === null };
  }
}

const WORKSPACE: Readonly<Record<string, string>> = {
  routewright: "generator",
  "@routewright/runtime": "runtime",
  "@routewright/ramp": "runtime/ramp",
};

/** Links to what is installed; the packages of the workspace are the copy's own. */
function linkModules(repository: string, root: string): void {
  const from = join(repository, "node_modules");
  const to = join(root, "node_modules");
  for (const name of readdirSync(from))
    if (name !== "routewright" && name !== "@routewright") symlinkSync(join(from, name), join(to, name));
  linkWorkspace(root);
  for (const part of Object.values(WORKSPACE)) {
    const own = join(repository, part, "node_modules");
    if (existsSync(own)) symlinkSync(own, join(root, part, "node_modules"));
  }
  mkdirSync(join(root, ".data"));
  // Programs that tests need, as far as they are there.
  for (const name of ["clickhouse", "clients", "duckdb", "node", "stores", "tracing"]) {
    const installed = join(repository, ".data", name);
    if (existsSync(installed)) symlinkSync(installed, join(root, ".data", name));
  }
}

function linkWorkspace(root: string): void {
  mkdirSync(join(root, "node_modules/@routewright"), { recursive: true });
  for (const [name, part] of Object.entries(WORKSPACE)) {
    const link = join(root, "node_modules", name);
    rmSync(link, { force: true });
    symlinkSync(join(root, part), link);
  }
}
