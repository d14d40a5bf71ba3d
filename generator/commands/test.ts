import { existsSync } from "node:fs";
import { join } from "node:path";
import { Option } from "commander";
import { readEnvironment } from "@routewright/runtime/server";
import { adapterProblem, servedPaths } from "@routewright/runtime/model";
import { readCatalogueIn } from "../catalogue/catalogue-file.js";
import type { CatalogueEntry } from "../catalogue/catalogue.js";
import type { Settings } from "../config.js";
import { visible } from "../manifest/strings.js";
import { writeFiles } from "../output/replace-file.js";
import { type CliCommand, type CommandResult, EXIT, failure, withSettings } from "./command.js";
import { withProgress } from "./progress.js";
import { type EndpointTest, pathIn, readTests } from "./test/cases.js";
import { runTests, type TestResult } from "./test/run.js";

interface Flags {
  readonly generated?: string;
  readonly format: "text" | "junit";
  readonly init: boolean;
}

export function configure(command: CliCommand): void {
  command
    .option("--generated <folder>", "the generated folder (default: `out` of the config file, or generated)")
    .addOption(new Option("--format <format>", "output format").choices(["text", "junit"]).default("text"))
    .option("--init", "write a test for each endpoint that has none, and run nothing", false)
    .runs((flags: Flags) => withSettings(flags, (settings) => test(flags, settings)))
    .helpEnd(["test", "test --format junit > api-tests.xml", "test --init"], { 1: "a test failed" });
}

/** `routewright test`: runs endpoint tests against the database, in process. */
async function test({ format, init }: Flags, settings: Settings): Promise<CommandResult> {
  const folder = settings.tests;
  const [catalogue, tests] = [readCatalogueIn(settings.out), await readTests(folder)];
  if (catalogue === null) return failure(`No folder ${settings.out}: run \`routewright generate\` first.`);
  if (!catalogue.ok) return failure(...catalogue.problems);
  if (!tests.ok) return failure(...tests.problems);
  const { entries, adapter } = catalogue.value;
  const tested = new Set(tests.value.map(pathIn));
  const untested = entries.filter((entry) => !servedPaths(entry).some((path) => tested.has(path)));
  if (init) return writeTests(untested, folder);
  if (tests.value.length === 0)
    return failure(`There are no tests in ${folder}: \`routewright test --init\` writes one per endpoint.`);
  const reading = readEnvironment(settings.variables);
  if (!reading.ok) return failure(...reading.problems);
  const problem = adapterProblem(adapter, reading.value.environment.clickhouseUrl !== null);
  if (problem !== null) return failure(problem);
  const results = await withProgress("Running tests", (progress) =>
    runTests(tests.value, reading.value.environment, settings.out, progress),
  );
  const failed = results.some(({ failures }) => failures.length > 0);
  return {
    exit: failed ? EXIT.findings : EXIT.ok,
    output: format === "junit" ? junitOf(results) : textOf(results),
    notes:
      untested.length === 0
        ? []
        : [`Endpoints without a test: ${untested.map(({ path }) => path).join(", ")}`],
  };
}

function textOf(results: readonly TestResult[]): string {
  const lines = results.flatMap(({ test: { name, file }, failures }) => [
    `${failures.length === 0 ? "pass" : "FAIL"}  ${visible(name)}  (${visible(file)})`,
    ...failures.map((line) => `      ${visible(line)}`),
  ]);
  return `${[...lines, summaryOf(results)].join("\n")}\n`;
}

function summaryOf(results: readonly TestResult[]): string {
  const failed = results.filter(({ failures }) => failures.length > 0).length;
  return `${String(results.length - failed)} passed, ${String(failed)} failed`;
}

/** JUnit's XML, which CI systems show. */
function junitOf(results: readonly TestResult[]): string {
  const failed = results.filter(({ failures }) => failures.length > 0).length;
  const cases = results.map(({ test: { name, file }, failures, milliseconds }) => {
    const time = (milliseconds / 1000).toFixed(3);
    const head = `<testcase classname="${xml(file)}" name="${xml(name)}" time="${time}"`;
    if (failures.length === 0) return `    ${head}/>`;
    const message = xml(failures.join("\n"));
    return `    ${head}><failure message="${xml(failures[0] ?? "")}">${message}</failure></testcase>`;
  });
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    "<testsuites>",
    `  <testsuite name="routewright" tests="${String(results.length)}" failures="${String(failed)}">`,
    ...cases,
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}

function xml(text: string): string {
  const escapes: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  return text
    .split("\n")
    .map(visible)
    .join("\n")
    .replaceAll(/[&<>"]/g, (character) => escapes[character] ?? "");
}

/** One file per endpoint; existing ones stay. */
async function writeTests(entries: readonly CatalogueEntry[], folder: string): Promise<CommandResult> {
  const { stringify } = await import("yaml");
  const files = entries
    .map((entry) => ({
      file: join(folder, `${entry.path.replace(/^\/v1\//, "")}.yml`),
      test: firstTest(entry),
    }))
    .filter(({ file }) => !existsSync(file));
  const writing = writeFiles(files.map(({ file, test: one }) => ({ file, text: stringify([one]) })));
  if (!writing.ok) return failure(...writing.problems);
  const output = files.map(({ file }) => `wrote ${visible(file)}\n`).join("");
  return { exit: EXIT.ok, isStatus: true, output: output || "Every endpoint has a test.\n" };
}

/** A request that answers whatever the rows are. */
function firstTest(entry: CatalogueEntry): Omit<EndpointTest, "file" | "method" | "target"> {
  const { path, tier, pagination, columns, rows, allowUnfiltered, requireAnyOf } = entry;
  const caller = { ...(tier !== "tier0" && { tier }), ...(rows !== undefined && { org: "example" }) };
  const needsFilter = !allowUnfiltered || requireAnyOf.length > 0;
  if (needsFilter)
    return { name: `${path} asks for a filter`, request: `GET ${path}`, ...caller, expect: { status: 400 } };
  const expected = columns.length === 0 ? {} : { columns: columns.map(({ name }) => name) };
  const request = `GET ${path}${pagination === null ? "" : "?limit=1"}`;
  return { name: `${path} has its columns`, request, ...caller, expect: { status: 200, ...expected } };
}
