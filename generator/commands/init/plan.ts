import { existsSync, lstatSync, readFileSync, type Stats } from "node:fs";
import { isObject, objectOr } from "../../manifest/json.js";
import { lineEndsOf, patternOf } from "../../output/folder.js";
import { templateText } from "../command.js";

/** What `routewright init` is to set up. */
export interface Choices {
  /** The config file's keys. */
  readonly config: Readonly<Record<string, unknown>>;
  readonly out: string;
  readonly ci: "github" | "gitlab" | null;
  readonly docker: keyof typeof DOCKER_FILES | null;
}

/** One file: what it will hold, or why it stays as it is. */
export interface InitStep {
  readonly file: string;
  readonly text: string;
  readonly action: "create" | "add to" | "keep";
  readonly why: string;
}

const CI_FILES = {
  github: [
    ["github-actions.yml", ".github/workflows/regenerate-api.yml"],
    ["regenerate.sh", "ci/regenerate.sh"],
    ["review-request.mjs", "ci/review-request.mjs"],
    ["github-pull-requests.yml", ".github/workflows/check-api.yml"],
    ["check.sh", "ci/check.sh"],
    ["github-publish-clients.yml", ".github/workflows/publish-clients.yml"],
    ["publish-clients.sh", "ci/publish-clients.sh"],
  ],
  gitlab: [
    ["gitlab-ci.yml", "ci/routewright.gitlab-ci.yml"],
    ["regenerate.sh", "ci/regenerate.sh"],
    ["review-request.mjs", "ci/review-request.mjs"],
    ["gitlab-merge-requests.yml", "ci/check-api.gitlab-ci.yml"],
    ["check.sh", "ci/check.sh"],
    ["gitlab-publish-clients.yml", "ci/publish-clients.gitlab-ci.yml"],
    ["publish-clients.sh", "ci/publish-clients.sh"],
  ],
} as const;

const IMAGE_FILES = ["Dockerfile", "Dockerfile.dockerignore"];

/** Written into `deploy/`. The ramp is a product of its own. */
export const DOCKER_FILES = {
  data: [
    ...IMAGE_FILES,
    "compose.yml",
    "nginx.conf",
    "prometheus.yml",
    "alerts.yml",
    "grafana-dashboard.json",
    "grafana-dashboards.yml",
    "grafana-provisioning.yml",
    "kubernetes/data-api.yml",
    "kubernetes/prometheus-scrape.yml",
  ],
  ramp: [
    ...IMAGE_FILES,
    "ramp/compose.yml",
    "ramp/kubernetes.yml",
    "ramp/alerts.yml",
    "ramp/grafana-dashboard.json",
    "ramp/prometheus-scrape.yml",
  ],
} as const;

/** The npm scripts that `init` adds. */
const SCRIPTS = {
  "api:generate": "routewright generate",
  "api:check": "routewright generate --check --strict",
  "api:lint": "routewright lint",
  "api:diff": "routewright diff git:origin/main",
  "api:serve": "routewright serve --only data",
} as const;

/** Every file that `init` creates or extends in the current folder, in the order of the report. Writes nothing. */
export function planOf({ config, out, ci, docker }: Choices, configFile: string | null): readonly InitStep[] {
  const schema = "./node_modules/routewright/dist/config.schema.json";
  const configText = `${JSON.stringify({ $schema: schema, ...config }, null, 2)}\n`;
  return [
    configFile === null
      ? step("routewright.config.json", null, configText)
      : { file: configFile, text: "", action: "keep", why: "as it is" },
    packageStep(out),
    linesStep(".gitattributes", [lineEndsOf(out)]),
    linesStep(".gitignore", [
      ...["node_modules/", ".data/", "api_keys.json"],
      ...(docker === null ? [] : ["deploy/keys/", "deploy/**/.env"]),
    ]),
    // Another formatter would make every file differ from what is generated.
    ...[".prettierignore", ".eslintignore"]
      .filter((file) => existsSync(file))
      .map((file) => linesStep(file, [`${patternOf(out)}/`])),
    ...(ci === null ? [] : CI_FILES[ci].map(([from, to]) => templateStep(`ci/${from}`, to))),
    ...(docker === null
      ? []
      : DOCKER_FILES[docker].map((file) => templateStep(`docker/${file}`, `deploy/${file}`))),
  ];
}

/** `added`: what a file gets that is there already. */
function step(file: string, before: string | null, text: string, added: readonly string[] = []): InitStep {
  if (before === null) return { file, text, action: "create", why: "" };
  const isSame = before === text;
  return { file, text, action: isSame ? "keep" : "add to", why: isSame ? "as it is" : added.join(", ") };
}

/** A template's file is never written over another one. */
function templateStep(template: string, file: string): InitStep {
  const text = templateText(template);
  const before = readText(file);
  if (before === null) return step(file, null, text);
  return { file, text, action: "keep", why: before === text ? "as it is" : "differs from the template" };
}

function linesStep(file: string, lines: readonly string[]): InitStep {
  const before = readText(file);
  const present = new Set((before ?? "").split(/\r?\n/).map((line) => line.trim()));
  const missing = lines.filter((line) => !present.has(line) && !present.has(line.replace(/\/$/, "")));
  const gap = before === null || before === "" || before.endsWith("\n") ? "" : "\n";
  return step(file, before, `${before ?? ""}${gap}${missing.map((line) => `${line}\n`).join("")}`, missing);
}

function packageStep(out: string): InitStep {
  const file = "package.json";
  const before = readText(file);
  const scripts = { ...SCRIPTS, "api:diff": `${SCRIPTS["api:diff"]} ${quoted(out)}` };
  if (before === null) {
    const fresh = { name: "api", private: true, type: "module", scripts };
    return step(file, null, `${JSON.stringify(fresh, null, 2)}\n`);
  }
  const manifest = packageJson(before);
  const own = objectOr(manifest["scripts"]);
  const missing = Object.keys(scripts).filter((name) => !(name in own));
  if (missing.length === 0) return step(file, before, before);
  const indent = /^[ \t]+/m.exec(before)?.[0] ?? "  ";
  const text = JSON.stringify({ ...manifest, scripts: { ...scripts, ...own } }, null, indent);
  return step(file, before, `${text}${before.endsWith("\n") ? "\n" : ""}`, missing);
}

/** As one word of npm's scripts, which a shell of the system runs. */
function quoted(folder: string): string {
  return /^[\w./-]+$/.test(folder) ? folder : `"${folder.replace(/["$`]/g, "\\$&")}"`;
}

/** @throws where the file is no JSON object */
export function packageJson(text: string): Readonly<Record<string, unknown>> {
  try {
    const json: unknown = JSON.parse(text);
    if (isObject(json)) return json;
  } catch {
    // Said below.
  }
  throw new Error("package.json is not a JSON object: correct it, then run `routewright init` again.");
}

/** The text of a file of the repository; null where there is none. */
export function readText(file: string): string | null {
  const found = entryAt(file);
  if (found === undefined) return null;
  if (!found.isFile())
    throw new Error(`${file} is not a plain file: move it away, then run \`routewright init\` again.`);
  return readFileSync(file, "utf8");
}

function entryAt(file: string): Stats | undefined {
  try {
    return lstatSync(file, { throwIfNoEntry: false });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOTDIR") throw error;
    throw new Error(`A folder above ${file} is a file: move it away, then run \`routewright init\` again.`, {
      cause: error,
    });
  }
}
