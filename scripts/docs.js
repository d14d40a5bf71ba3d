/**
 * `npm run docs`: a site of the pages of both packages and the ramp, with search; serves it on the loopback interface, or only
 * writes it with `--build`. VitePress is installed on the first call, under `.data/`: a clone does not need it.
 */
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, posix } from "node:path";
import { ROOT, run } from "./ready.js";

const VITEPRESS = "vitepress@1.6.4";
const HOME = join(ROOT, ".data/docs");
const SOURCES = join(HOME, "pages");
const SITE = join(HOME, "site");

/** The parts of the site: the README of each lists its pages. The ramp is a product of its own. */
const PARTS = [
  { title: "Generate", readme: "generator/README.md" },
  { title: "Serve", readme: "runtime/README.md" },
  { title: "Ramp", readme: "runtime/ramp/README.md" },
];

const LINK = /\[([^\]]+)\]\(([^)#\s]+)(#[^)\s]*)?\)/g;

/** A table of links in a README: its heading, and the pages in its first column. */
function groupsOf({ readme }) {
  const tables = readFileSync(join(ROOT, readme), "utf8").split(/\n\s*\n/);
  return tables
    .filter((block) => block.startsWith("|"))
    .map((block) => {
      const [head, , ...rows] = block.trim().split("\n");
      const text = head.split("|")[1].trim();
      const items = rows.flatMap((row) =>
        [...row.split("|")[1].matchAll(LINK)].map(([, title, path]) => ({
          text: title,
          page: posix.join(posix.dirname(readme), path),
        })),
      );
      return { text: text[0].toUpperCase() + text.slice(1), items };
    })
    .filter(({ items }) => items.length > 0);
}

const parts = PARTS.map((part) => ({ ...part, groups: groupsOf(part) }));
const pages = new Map([
  ["README.md", "Routewright"],
  ...parts.flatMap(({ title, readme, groups }) => [
    [readme, title],
    ...groups.flatMap(({ items }) => items.map(({ text, page }) => [page, text])),
  ]),
]);

/** Links to what is not on the site, such as code, become text. */
function withoutOtherLinks(file, text) {
  return text.replace(LINK, (link, title, path) => {
    if (/^[a-z]+:/.test(path)) return link;
    const target = posix.join(posix.dirname(file), path);
    const page = [target, posix.join(target, "README.md")].find((each) => pages.has(each));
    return page === undefined ? title : link.replace(path, posix.relative(posix.dirname(file), page));
  });
}

/** The index of the site for language models (llmstxt.org): each page with the first sentence of its text. */
function llmsText() {
  const line = ([file, title]) => {
    const paragraph = readFileSync(join(SOURCES, file), "utf8")
      .split(/\n\s*\n/)
      .find((block) => /^(?!```)[A-Za-z`]/.test(block));
    const [sentence = ""] = paragraph?.replace(/\s+/g, " ").split(/(?<=[.:])\s/) ?? [];
    return `- [${title}](/${file})${sentence === "" ? "" : `: ${sentence.replace(/:$/, ".")}`}`;
  };
  return `# Routewright\n\n> dbt models as a typed, tier-gated HTTP API.\n\n${[...pages].map(line).join("\n")}\n`;
}

function writeSources() {
  rmSync(SOURCES, { recursive: true, force: true });
  for (const file of pages.keys()) {
    const to = join(SOURCES, file);
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, withoutOtherLinks(file, readFileSync(join(ROOT, file), "utf8")));
  }
  cpSync(join(ROOT, "scripts/docs"), join(SOURCES, ".vitepress/theme"), { recursive: true });
  const pathOf = (file) => `/${file.replace(/README\.md$/, "").replace(/\.md$/, "")}`;
  const config = {
    title: "Routewright",
    description: "dbt models as a typed, tier-gated HTTP API",
    outDir: SITE,
    rewrites: Object.fromEntries(
      [...pages.keys()].map((file) => [file, file.replace(/README\.md$/, "index.md")]),
    ),
    themeConfig: {
      search: { provider: "local" },
      outline: [2, 3],
      nav: parts.map(({ title, readme }) => ({ text: title, link: pathOf(readme) })),
      sidebar: Object.fromEntries(
        parts
          .map(({ readme, groups }) => [
            pathOf(readme),
            groups.map(({ text, items }) => ({
              text,
              items: items.map((item) => ({ text: item.text, link: pathOf(item.page) })),
            })),
          ])
          // The longest path that fits comes first: the ramp's lies in the runtime's.
          .sort(([a], [b]) => b.length - a.length),
      ),
    },
  };
  writeFileSync(join(SOURCES, ".vitepress/config.mjs"), `export default ${JSON.stringify(config, null, 2)};`);
}

if (!existsSync(join(HOME, "node_modules/vitepress"))) {
  console.log(`Installing ${VITEPRESS} …`);
  mkdirSync(HOME, { recursive: true });
  run("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", HOME, VITEPRESS]);
}
writeSources();
const vitepress = join(HOME, "node_modules/vitepress/bin/vitepress.js");
run(process.execPath, [vitepress, "build", SOURCES]);
// Beside its HTML each page is there as Markdown, which the button of the theme copies.
for (const file of pages.keys()) cpSync(join(SOURCES, file), join(SITE, file));
writeFileSync(join(SITE, "llms.txt"), llmsText());
console.log(`The site is in ${SITE}.`);
if (!process.argv.includes("--build")) run(process.execPath, [vitepress, "preview", SOURCES]);
