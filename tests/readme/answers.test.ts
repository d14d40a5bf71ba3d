/** Where a reader finds answers: each within two clicks from the README. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, it } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const GENERATOR = "generator/docs";
const RUNTIME = "runtime/docs";
const RAMP = "runtime/ramp/docs";

/** A question, the page that answers it, and words of the answer. */
const ANSWERS: readonly (readonly [question: string, page: string, words: RegExp])[] = [
  ["What does it do?", "README.md", /turns a dbt manifest into a public HTTP API/],
  ["How do I try it?", "README.md", /npm start/],
  ["How do I add it to my project?", "README.md", /npx routewright init/],
  ["How does a model become an endpoint?", `${GENERATOR}/tags.md`, /api:/],
  ["How do I publish a folder of models?", `${GENERATOR}/how-to/publish-a-folder.md`, /publish/],
  ["How do I add a filter?", `${GENERATOR}/how-to/add-a-filter.md`, /parameters/],
  ["How do callers page through all rows?", `${GENERATOR}/how-to/page-through-rows.md`, /cursor/],
  ["How do I offer sums by group?", `${GENERATOR}/how-to/aggregates.md`, /aggregate/],
  ["How do I show each customer its own rows?", `${GENERATOR}/how-to/own-rows.md`, /organization/],
  ["How do I serve marts of Snowflake?", `${GENERATOR}/how-to/serve-a-copy.md`, /Snowflake/],
  ["How do I move a path?", `${GENERATOR}/how-to/moved-paths.md`, /former_paths/],
  ["What breaks my consumers?", `${GENERATOR}/diff.md`, /breaking/],
  ["What do I run in CI?", `${GENERATOR}/how-to/ci.md`, /generate --check/],
  ["How do I silence a rule?", `${GENERATOR}/lint.md`, /off/],
  ["How do I hide private columns?", `${GENERATOR}/meta-routewright.md`, /private/],
  ["How do I give an endpoint a title?", `${GENERATOR}/meta-routewright.md`, /`title`/],
  ["Can I filter with OR?", `${RUNTIME}/filter.md`, /`or`/],
  ["Do large numbers keep their digits?", `${GENERATOR}/large-numbers.md`, /digits/],
  ["How do I get a typed client?", `${GENERATOR}/how-to/typed-clients.md`, /openapi-typescript/],
  ["Which numbers does the first page show?", `${GENERATOR}/configuration.md`, /`headline`/],
  ["How do I put our logo on the pages?", `${GENERATOR}/configuration.md`, /`logo`/],
  ["How do I create a key?", `${RUNTIME}/keys.md`, /keys create/],
  ["How do I revoke a leaked key?", `${RUNTIME}/how-to/rotate-a-key.md`, /leak/i],
  [
    "What does a tier open, and what does it cost?",
    `${RUNTIME}/keys.md`,
    /tier N and below[^]*What a tier costs/,
  ],
  ["How many requests may a caller send?", `${RUNTIME}/limits.md`, /requests/],
  ["Why 404?", `${RUNTIME}/errors.md`, /`404`|\| 404/],
  ["What does this message mean?", `${RUNTIME}/troubleshooting.md`, /cause/i],
  ["How do I connect PostgreSQL or ClickHouse?", `${RUNTIME}/how-to/connect-your-warehouse.md`, /GRANT/],
  ["How do I deploy?", `${RUNTIME}/how-to/deploy.md`, /Kubernetes/],
  ["How do I roll back?", `${RUNTIME}/how-to/roll-back.md`, /folder/],
  ["How fresh are the rows?", `${RUNTIME}/freshness.md`, /X-Data-As-Of/],
  ["How do I let a CDN keep rows?", `${RUNTIME}/how-to/shared-caches.md`, /CDN|Cloudflare/],
  ["How do I read it in Excel or Power BI?", `${RUNTIME}/how-to/spreadsheets.md`, /Power BI|Excel/],
  ["How do I read it in pandas?", `${RUNTIME}/how-to/data-frames.md`, /pandas/],
  ["How do I embed a chart?", `${RUNTIME}/catalogue.md`, /explore\/embed/],
  ["How do I follow changes?", `${RUNTIME}/system-endpoints.md`, /changelog\.atom/],
  ["How do I give it to an assistant?", `${RUNTIME}/how-to/assistant.md`, /MCP/],
  ["Who costs what?", `${RUNTIME}/how-to/who-costs-what.md`, /query_log/],
  ["What may a payment become?", `${RAMP}/intents.md`, /refund/i],
  ["How do I connect a payment provider?", `${RAMP}/provider-protocol.md`, /provider/],
];

/** The pages that a page links to. */
function linksOf(page: string): readonly string[] {
  const text = readFileSync(join(ROOT, page), "utf8");
  return [...text.matchAll(/\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/g)]
    .map(([, target = ""]) => normalize(join(dirname(page), target)))
    .filter((target) => target.endsWith(".md") && existsSync(join(ROOT, target)));
}

const first = ["README.md", ...linksOf("README.md")];
const within = new Set([...first, ...first.flatMap((page) => linksOf(page))]);

it.each(ANSWERS)("%s is answered within two clicks from the README", (_, page, words) => {
  expect(within).toContain(page);
  expect(readFileSync(join(ROOT, page), "utf8")).toMatch(words);
});

it("the list has 40 questions", () => {
  expect(new Set(ANSWERS.map(([question]) => question)).size).toBe(40);
});
