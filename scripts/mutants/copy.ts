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
import { reachedIn, setUpFor } from "./marks.js";

/** A run of tests that takes longer is in a loop that the mutant made, unless the machine is busy. */
const RUN_MS = Number(process.env["MUTANT_RUN_MINUTES"] ?? 15) * 60_000;
const SET_UP = "tests/support/read-statements.ts";
const VITEST = ["npx", "vitest", "run", "--config", "tests/vitest.config.ts"];
const BUILT = ["generator/dist", "runtime/dist", "runtime/ramp/dist"];

interface Ended {
  readonly code: number | null;
  /** Whether it was stopped after `RUN_MS`. */
  readonly isStopped: boolean;
  readonly output: string;
}

/** A copy of the repository's last commit with its own `dist/`, so that nobody's sources change. */
export class Copy {
  readonly root: string;

  /** Replaces what a run before left in the folder. */
  static async make(repository: string, folder: string): Promise<Copy> {
    const copy = new Copy(join(folder, "tree"));
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(join(copy.root, "node_modules"), { recursive: true });
    execFileSync("sh", ["-c", `git archive HEAD | tar -x -C "${copy.root}"`], { cwd: repository });
    // Tests list the repository's files.
    execFileSync("sh", ["-c", "git init -q && git add -A"], { cwd: copy.root });
    linkModules(repository, copy.root);
    const { code, output } = await copy.#run(["npm", "run", "--silent", "build"]);
    if (code !== 0) throw new Error(`The sources cannot be built:\n${output}`);
    for (const built of BUILT) cpSync(join(copy.root, built), join(folder, built), { recursive: true });
    return copy;
  }

  private constructor(root: string) {
    this.root = root;
  }

  /** Does something while a file has another text, and puts back the file and what was built of it. */
  async with<Result>(file: string, text: string, work: () => Promise<Result>): Promise<Result> {
    const path = join(this.root, file);
    const original = readFileSync(path, "utf8");
    writeFileSync(path, text);
    try {
      return await work();
    } finally {
      writeFileSync(path, original);
    }
  }

  /** Where marks note what runs. */
  get marks(): string {
    return join(this.root, ".data/marks");
  }

  /** Runs a set while sources have marks, by file: the test files that run each place. Whether they pass does not matter. */
  async reachedBy(
    marked: ReadonlyMap<string, string>,
    set: TestSet,
  ): Promise<Readonly<Record<string, readonly string[]>>> {
    mkdirSync(this.marks, { recursive: true });
    const setUp = readFileSync(join(this.root, SET_UP), "utf8");
    const texts = [...marked, [SET_UP, setUp + setUpFor(this.marks)] as const];
    const run = texts.reduce<() => Promise<unknown>>(
      (work, [file, text]) =>
        () =>
          this.with(file, text, work),
      () => this.withBuild(() => this.#run(VITEST, set, 6 * RUN_MS)),
    );
    await run();
    return reachedIn(this.marks, this.root);
  }

  /** Whether the sources compile. */
  async compiles(): Promise<boolean> {
    const tsc = ["node", "node_modules/typescript-native/bin/tsc", "-p", "."];
    const { code } = await this.#run([...tsc, "--incremental", "--tsBuildInfoFile", ".data/tsc.tsbuildinfo"]);
    return code === 0;
  }

  /** Builds the packages, and does something with them. */
  async withBuild<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      await this.#run(["npm", "run", "--silent", "build"]);
      return await work();
    } finally {
      for (const built of BUILT) {
        rmSync(join(this.root, built), { recursive: true, force: true });
        cpSync(join(this.root, "..", built), join(this.root, built), { recursive: true });
      }
    }
  }

  /** The first of these test files that fails, on the engines that the set runs them on; null if none does. */
  async failureOf(files: readonly string[], set: TestSet): Promise<string | null> {
    if (files.length === 0) return null;
    const results = join(this.root, ".data/results.json");
    rmSync(results, { force: true });
    const reporter = ["--bail", "1", "--reporter=json", "--outputFile", results];
    const { code, isStopped, output } = await this.#run([...VITEST, ...reporter, ...files], set);
    if (code === 0) return null;
    if (isStopped) return "(no end)";
    if (!existsSync(results)) throw new Error(`The test runner gave no results:\n${output}`);
    const { testResults } = JSON.parse(readFileSync(results, "utf8")) as {
      readonly testResults: readonly { readonly name: string; readonly status: string }[];
    };
    const failed = testResults.find(({ status }) => status === "failed");
    return failed ? failed.name.slice(this.root.length + 1) : "(outside of the tests)";
  }

  async #run(
    [program = "", ...args]: readonly string[],
    set: TestSet = "all",
    longest = RUN_MS,
  ): Promise<Ended> {
    const env = { ...process.env, TEST_SET: set };
    // A group of its own, which ends as one.
    const child = spawn(program, args, {
      cwd: this.root,
      env,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk) => (output = (output + String(chunk)).slice(-10_000)));
    const end = (): void => {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    };
    let isStopped = false;
    const timer = setTimeout(() => {
      isStopped = true;
      end();
    }, longest);
    process.once("exit", end);
    const [code] = (await once(child, "close")) as [number | null];
    process.off("exit", end);
    clearTimeout(timer);
    return { code, output, isStopped };
  }
}

/** Links to what is installed; the packages of the workspace are the copy's own. */
function linkModules(repository: string, root: string): void {
  const from = join(repository, "node_modules");
  const to = join(root, "node_modules");
  const workspace: Readonly<Record<string, string>> = {
    routewright: "generator",
    "@routewright/runtime": "runtime",
    "@routewright/ramp": "runtime/ramp",
  };
  for (const name of readdirSync(from))
    if (name !== "routewright" && name !== "@routewright") symlinkSync(join(from, name), join(to, name));
  mkdirSync(join(to, "@routewright"));
  for (const [name, part] of Object.entries(workspace)) {
    symlinkSync(join(root, part), join(to, name));
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
