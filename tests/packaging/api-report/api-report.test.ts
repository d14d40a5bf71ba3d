/**
 * The public interface of the last released version is kept beside this file. What differs from it is named in the newest part
 * of a changelog. `API_REPORT=write` writes the files, when a version is released.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { apiReports, type Report } from "./report.js";

const folder = new URL("released/", import.meta.url);
const root = new URL("../../../", import.meta.url);
const fileOf = (name: string): URL => new URL(`${name}.txt`, folder);
const textIn = (file: string): string => readFileSync(new URL(file, root), "utf8");
const version = (JSON.parse(textIn("runtime/package.json")) as { readonly version: string }).version;
const CHANGELOGS = ["generator", "runtime", "runtime/ramp"].map((folder) => `${folder}/docs/changelog.md`);

const current = await apiReports();
if (process.env["API_REPORT"] === "write") write();

function write(): void {
  mkdirSync(folder, { recursive: true });
  for (const [name, report] of Object.entries(current)) writeFileSync(fileOf(name), textOf(name, report));
}

/** A name at the beginning of a line, its text indented below. */
function textOf(name: string, report: Report): string {
  const entries = [...report].map(([key, text]) => [key, ...text.split("\n").filter(Boolean)].join("\n    "));
  return `${[`# ${name} of ${version}`, ...entries].join("\n")}\n`;
}

function parsed(text: string): { readonly version: string; readonly report: Report } {
  const [head = "", ...lines] = text.trimEnd().split("\n");
  const entries = lines.join("\n").split(/\n(?! {4})/);
  const report = entries.map((entry): [string, string] => {
    const [key = "", ...rest] = entry.split("\n    ");
    return [key, rest.join("\n")];
  });
  return { version: head.split(" ").at(-1) ?? "", report: new Map(report) };
}

interface Part {
  readonly title: string;
  readonly text: string;
}

/** A changelog by version, the newest first. */
function partsOf(file: string): readonly Part[] {
  const [, ...parts] = textIn(file).split(/^## /m);
  return parts.map((text) => ({ title: text.split("\n")[0] ?? "", text }));
}

const newest = CHANGELOGS.map((file) => partsOf(file)[0]?.text ?? "").join("\n");

/** Names that differ, and that no text names: the last word of a flag, a key or a field is enough. */
export function unnamed(released: Report, now: Report, changelog: string): readonly string[] {
  const names = [...new Set([...released.keys(), ...now.keys()])];
  return names.filter((name) => released.get(name) !== now.get(name) && !isNamed(name, changelog));
}

function isNamed(name: string, changelog: string): boolean {
  const short =
    name
      .split(/[ .]/)
      .at(-1)
      ?.replace(/[[\]|]+$/, "") ?? name;
  const word = short.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
  return new RegExp(`(?<![\\w-])${word}(?![\\w-])`).test(changelog);
}

it.each(Object.keys(current))("%s: what differs from the last release is named in a changelog", (name) => {
  expect(existsSync(fileOf(name)), "write the report: API_REPORT=write npm test -- api-report").toBe(true);
  const kept = parsed(readFileSync(fileOf(name), "utf8"));
  expect(kept.report.size).toBeGreaterThan(5);
  // As it is written: what is compared is a text.
  const now = parsed(textOf(name, current[name]!)).report;
  expect(unnamed(kept.report, now, newest)).toEqual([]);
});

it("a change that no changelog names is found, whatever it is", () => {
  for (const report of Object.values(current)) {
    const [[name, text]] = [...report] as [[string, string]];
    const without = new Map([...report].slice(1));
    const other = new Map([...report, [name, `${text} more`]]);
    for (const changed of [without, other]) {
      expect(unnamed(report, changed, "Nothing.")).toEqual([name]);
      expect(unnamed(changed, report, "Nothing.")).toEqual([name]);
      expect(unnamed(report, changed, `- \`${name}\` is another.`)).toEqual([]);
    }
  }
});

it("the reports are of one version, which all changelogs have", () => {
  const versions = Object.keys(current).map((name) => parsed(readFileSync(fileOf(name), "utf8")).version);
  expect(new Set(versions).size).toBe(1);
  for (const file of CHANGELOGS)
    expect(partsOf(file).map(({ title }) => title.split(" ")[0])).toContain(versions[0]);
});

/** Of 120 columns and 50 lines. */
const SCREEN = 6_000;

it.each(CHANGELOGS)(
  "%s is by version, each with its day, what to do, and no longer than a screen",
  (file) => {
    const parts = partsOf(file).filter(({ title }) => title !== "0.1.0");
    for (const { title, text } of parts) {
      expect(title).toMatch(/^(Unreleased|\d+\.\d+\.\d+ \(\d{4}-\d\d-\d\d\))$/);
      expect(text).toMatch(/^To do[,:]/m);
      expect([title, text.length <= SCREEN && text.split("\n").length <= 50]).toEqual([title, true]);
    }
    expect(parts.map(({ title }) => title.split(" ")[0])).toContain(version);
  },
);
