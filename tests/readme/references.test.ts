import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, posix } from "node:path";
import { expect, it } from "vitest";

const ROOT = new URL("../../", import.meta.url).pathname;
const tracked = execFileSync("git", ["ls-files"], { cwd: ROOT, encoding: "utf8" }).trim().split("\n");
const read = (file: string): string => readFileSync(`${ROOT}${file}`, "utf8");

/** Files and folders of the repository. */
const known = new Set(
  tracked.flatMap((file) => {
    const parts = file.split("/");
    return parts.map((_, i) => parts.slice(0, i + 1).join("/"));
  }),
);
const TOP = "generator|runtime|tests|scripts|templates|\\.config";

/** The prose of a file: a page without its code blocks, otherwise the comments; line breaks are spaces. */
function proseOf(file: string): string {
  const text = read(file);
  const prose = file.endsWith(".md")
    ? text.replace(/^```.*?^```/gms, "")
    : [...text.matchAll(/(?<![*"])\/\*[\s\S]*?\*\/|^\s*(?:\/\/|--|#) .*$/gm)]
        .map(([comment]) => comment)
        .join("\n");
  return prose.replace(/\n\s*(?:\*|\/\/|--|#)? */g, " ");
}

/** A released migration never changes (tests/ramp/database/store.test.ts), though a page that it names moves. */
const RELEASED = /database\/migrations\/0001_schema\.sql$/;

const documents = tracked
  .filter((file) => /\.(ts|js|md|sql)$/.test(file) && !/^(generated|tests\/golden|templates)/.test(file))
  .filter((file) => file !== "tests/readme/references.test.ts" && !RELEASED.test(file))
  .map((file) => ({ file, prose: proseOf(file) }));

/** Paths that begin with a folder of ours, and names of source files and READMEs below some folder. */
const PATH = new RegExp(
  `(?<![\\w./@*-])((?:${TOP})/[\\w./-]*|(?:[\\w.-]+/)+[\\w.-]+\\.(?:ts|md|sql))(?![\\w/*{<]|-[*{<])`,
  "g",
);

/** Whether a path is one of the repository, from its root, from the file that names it, or by its end. */
function exists(path: string, from: string): boolean {
  const plain = path.replace(/[./]+$/, "").replace(/\.js$/, ".ts");
  return (
    known.has(plain) ||
    known.has(path) ||
    known.has(posix.join(dirname(from), plain)) ||
    tracked.some((file) => file.endsWith(`/${plain}`))
  );
}

/** Paths that are not in the repository: build output, and files of those who use Routewright. */
const ELSEWHERE = /(^|\/)(dist|node_modules|target|\.data)\/|^models\/|\.d\.ts$/;

it("names only paths that exist", () => {
  const missing = documents.flatMap(({ file, prose }) =>
    [...prose.matchAll(PATH)]
      .map(([, path = ""]) => path)
      .filter((path) => !ELSEWHERE.test(path) && !exists(path, file))
      .map((path) => `${file}: ${path}`),
  );
  expect(missing).toEqual([]);
});

/** Headings of a page, and the words in bold that begin its paragraphs. */
function sectionsOf(file: string): ReadonlySet<string> {
  const found = read(file).matchAll(/^#+ (.*)$|^(?:- )?\*\*(.+?)\*\*/gm);
  return new Set(
    [...found].map(([, heading, bold = ""]) => (heading ?? bold).replace(/`|[.:]$/g, "").toLowerCase()),
  );
}

it("names only sections that exist", () => {
  const REFERENCE = /([\w./-]*\.md), ([A-Z][\w '-]*)(?=[).;,`])/g;
  const missing = documents.flatMap(({ file, prose }) =>
    [...prose.matchAll(REFERENCE)]
      .filter(([, page = "", section = ""]) => {
        const named = [page, posix.join(dirname(file), page)].find((path) => known.has(path));
        return named === undefined || !sectionsOf(named).has(section.toLowerCase());
      })
      .map(([reference]) => `${file}: ${reference}`),
  );
  // Numbered sections are those of a specification that is not in the repository; standards are cited as RFC.
  const numbered = documents.flatMap(({ file, prose }) =>
    [...prose.matchAll(/[\w-]+\.md §[\d.]*/g)].map(([reference]) => `${file}: ${reference}`),
  );
  expect([...missing, ...numbered]).toEqual([]);
});

/** Anchor of a heading, as GitHub and VitePress make it for the plain headings that the pages have. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w -]/g, "")
    .replaceAll(" ", "-");

it("links only to pages, headings and files that exist, and from a package's pages to that package only", () => {
  const pages = tracked.filter((file) => file.endsWith(".md") && !file.startsWith("tests/"));
  const broken = pages.flatMap((file) => {
    const links = read(file)
      .replace(/^```.*?^```/gms, "")
      .matchAll(/\]\(([^)\s]+)\)/g);
    return [...links]
      .map(([, target = ""]) => target)
      .filter((target) => !target.startsWith("https://"))
      .filter((target) => {
        const [path = "", anchor] = target.split("#");
        const page = path === "" ? file : posix.join(dirname(file), path).replace(/\/$/, "");
        const isOwn = [/^generator\//, /^runtime\/ramp\//, /^runtime\/(?!ramp\/)/, /^templates\//].every(
          (own) => !own.test(file) || own.test(page),
        );
        const headings = anchor === undefined ? [] : [...read(page).matchAll(/^#+ (.*)$/gm)];
        const isAnchor = anchor === undefined || headings.some(([, text = ""]) => anchorOf(text) === anchor);
        return !known.has(page) || !isOwn || !isAnchor;
      })
      .map((target) => `${file}: ${target}`);
  });
  expect(broken).toEqual([]);
});
