import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
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
import { type Coverage, setUpFor, takeCovered, turnOn } from "./switches.js";

/** A run of tests that takes longer is in a loop that the mutant made, unless the machine is busy. */
const RUN_MS = Number(process.env["MUTANT_RUN_MINUTES"] ?? 15) * 60_000;
const SET_UP = "tests/support/read-statements.ts";
const VITEST = ["npx", "vitest", "run", "--config", "tests/vitest.config.ts"];

interface Ended {
  readonly code: number | null;
  /** Whether a signal ended it, as after `RUN_MS`. */
  readonly isStopped: boolean;
}

interface FileResult {
  readonly name: string;
  readonly status: string;
}

/** What fails outside of the test files. */
export const OUTSIDE = "(outside of the tests)";
export const NO_END = "(no end)";

/** A copy of the repository's last commit with its own `dist/`, so that nobody's sources change. */
export class Copy {
  readonly root: string;
  /** Where switches read and write. */
  readonly switches: string;
  /** What the last command printed. */
  output = "";
  /** Holds the name while it is built without a mutant. */
  readonly #ready: string;
  #on = 0;

  /** The name tells copies of one folder apart whose sources have other switches. */
  constructor(
    folder: string,
    readonly name: string,
  ) {
    this.root = join(folder, "tree");
    this.switches = join(this.root, ".data/switches");
    this.#ready = join(folder, "ready");
  }

  /** Replaces what a run before left in the folder. */
  static make(repository: string, folder: string, name: string): Copy {
    const copy = new Copy(folder, name);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(join(copy.root, "node_modules"), { recursive: true });
    execFileSync("sh", ["-c", `git archive HEAD | tar -x -C "${copy.root}"`], { cwd: repository });
    // Tests list the repository's files.
    execFileSync("sh", ["-c", "git init -q && git add -A"], { cwd: copy.root });
    linkModules(repository, copy.root);
    return copy;
  }

  /** Whether a call before has left it built without a mutant. */
  get isReady(): boolean {
    return existsSync(this.#ready) && readFileSync(this.#ready, "utf8") === this.name;
  }

  write(texts: ReadonlyMap<string, string>): void {
    for (const [file, text] of texts) writeFileSync(join(this.root, file), text);
  }

  /** Builds with switches, which are off until one is turned on. Resolves with the numbers of the places that the build itself runs. */
  async switched(sources: ReadonlyMap<string, string>): Promise<readonly number[]> {
    const setUp = readFileSync(join(this.root, SET_UP), "utf8") + setUpFor(this.switches);
    this.write(new Map([...sources, [SET_UP, setUp]]));
    this.turn(0);
    await this.build();
    return [...this.takeCovered().keys()];
  }

  /** Turns one mutant on for what starts from now on, or none by 0. */
  turn(number: number): void {
    this.#on = number;
    turnOn(this.switches, number);
  }

  /** What tests have run since the last call. */
  takeCovered(): ReadonlyMap<number, Coverage> {
    return takeCovered(this.switches, this.root);
  }

  /** Of some test files those that pass; null if not all of them came to an end. */
  async passing(files: readonly string[], set: TestSet): Promise<readonly string[] | null> {
    const results = (await this.#results(files, set)) ?? [];
    const statusesOf = (file: string): readonly string[] =>
      results.filter(({ name }) => name === join(this.root, file)).map(({ status }) => status);
    if (files.some((file) => statusesOf(file).length === 0)) return null;
    return files.filter((file) => statusesOf(file).every((status) => status === "passed"));
  }

  async build(): Promise<void> {
    // A mutant that the build runs stays in what it writes.
    rmSync(this.#ready, { force: true });
    const { code } = await this.#run(["npm", "run", "--silent", "build"]);
    if (code !== 0) throw new Error(`The sources cannot be built:\n${this.output}`);
    if (this.#on === 0) writeFileSync(this.#ready, this.name);
  }

  /** The first of these test files that fails, on the engines that the set runs them on; null if none does. */
  async failureOf(files: readonly string[], set: TestSet): Promise<string | null> {
    const results = await this.#results(files, set, "--bail", "1");
    if (results === null) return NO_END;
    const failed = results.find(({ status }) => status === "failed");
    return failed ? failed.name.slice(this.root.length + 1) : null;
  }

  /** Null if the run was stopped. */
  async #results(
    files: readonly string[],
    set: TestSet,
    ...options: readonly string[]
  ): Promise<readonly FileResult[] | null> {
    const written = join(this.root, ".data/results.json");
    rmSync(written, { force: true });
    const all = [...VITEST, ...options, "--reporter=json", "--outputFile", written, ...files];
    const { code, isStopped } = await this.#run(all, { TEST_SET: set });
    if (isStopped) return null;
    const { testResults } = (
      existsSync(written) ? JSON.parse(readFileSync(written, "utf8")) : { testResults: [] }
    ) as { readonly testResults: readonly FileResult[] };
    const hasFailed = testResults.some(({ status }) => status === "failed");
    const outside = { name: join(this.root, OUTSIDE), status: "failed" };
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
    this.output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk) => (this.output = (this.output + String(chunk)).slice(-100_000)));
    const end = (): void => {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    };
    const timer = setTimeout(end, RUN_MS);
    process.once("exit", end);
    const [code] = (await once(child, "close")) as [number | null];
    process.off("exit", end);
    clearTimeout(timer);
    return { code, isStopped: code === null };
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
