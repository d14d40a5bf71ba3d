/**
 * A lint rule: which folder may import which, and that no imports form a circle, type imports included. Imports run one
 * way. A file belongs to the longest listed folder that contains it; a folder may import itself and the folders listed
 * for it, nothing else.
 */
import { createRequire } from "node:module";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** `part: what it may import besides itself`. Packages are free, except our own. */
export const BOUNDARIES = {
  "generator/manifest": [],
  "generator/catalogue": ["generator/manifest", "runtime (package)"],
  "generator/render": ["generator/manifest", "generator/catalogue", "runtime (package)"],
  "generator/output": ["generator/manifest", "generator/render"],
  "generator/diff": ["generator/manifest", "generator/catalogue", "generator/render", "runtime (package)"],
  "generator/lint": ["generator/manifest", "generator/catalogue", "generator/render", "runtime (package)"],
  "generator/report": [
    "generator/manifest",
    "generator/catalogue",
    "generator/diff",
    "generator/lint",
    "generator/output",
    "generator/verify",
    "runtime (package)",
  ],
  "generator/verify": [
    "generator/manifest",
    "generator/catalogue",
    "generator/diff",
    "generator/lint",
    "runtime (package)",
  ],
  "generator/watch": [
    "generator/manifest",
    "generator/catalogue",
    "generator/render",
    "generator/output",
    "generator/diff",
    "runtime (package)",
  ],
  "generator/client": ["generator/manifest", "generator/catalogue", "runtime (package)"],
  "generator/commands": [
    "generator/client",
    "generator/verify",
    "generator",
    "generator/manifest",
    "generator/catalogue",
    "generator/render",
    "generator/output",
    "generator/diff",
    "generator/lint",
    "generator/report",
    "generator/watch",
    "runtime (package)",
  ],
  generator: [
    "generator/client",
    "generator/commands",
    "generator/manifest",
    "generator/catalogue",
    "generator/render",
    "generator/output",
    "generator/diff",
    "generator/lint",
    "generator/report",
    "generator/verify",
    "generator/watch",
    "runtime (package)",
  ],
  "runtime/model": [],
  "runtime/http": [],
  "runtime/access": ["runtime/model", "runtime/http", "runtime/access/rate-limit"],
  "runtime/access/rate-limit": ["runtime/model", "runtime/http"],
  "runtime/query": ["runtime/model"],
  "runtime/postgres": ["runtime/model", "runtime/query"],
  "runtime/results": ["runtime/model", "runtime/query"],
  "runtime/observability": ["runtime/model", "runtime/http", "runtime/access"],
  "runtime/docs": ["runtime/model", "runtime/http"],
  "runtime/environment": ["runtime/model", "runtime/http", "runtime/access"],
  "runtime/embedded": [],
  "runtime/data-api": [
    "runtime/model",
    "runtime/http",
    "runtime/access",
    "runtime/access/rate-limit",
    "runtime/query",
    "runtime/postgres",
    "runtime/results",
    "runtime/observability",
    "runtime/docs",
    "runtime/environment",
  ],
  "runtime/ramp": [
    "runtime/http",
    "runtime/access/rate-limit",
    "runtime/postgres",
    "runtime/docs",
    "runtime/environment",
  ],
  "runtime/cluster": [
    "runtime/model",
    "runtime/http",
    "runtime/access",
    "runtime/observability",
    "runtime/environment",
    "runtime/data-api",
    "runtime/ramp",
  ],
  runtime: [
    "runtime/model",
    "runtime/http",
    "runtime/access",
    "runtime/access/rate-limit",
    "runtime/query",
    "runtime/postgres",
    "runtime/results",
    "runtime/observability",
    "runtime/docs",
    "runtime/environment",
    "runtime/embedded",
    "runtime/data-api",
    "runtime/ramp",
    "runtime/cluster",
  ],
};

const PARTS = Object.keys(BOUNDARIES).sort((a, b) => b.length - a.length);

/** The part that holds a file, or undefined outside all of them. */
function partOf(file) {
  const path = relative(ROOT, file).split(sep).join("/");
  return PARTS.find((part) => path.startsWith(`${part}/`));
}

function targetOf(from, specifier) {
  if (/^@routewright\/runtime(\/|$)/.test(specifier)) return "runtime (package)";
  if (specifier === "routewright") return "generator";
  return specifier.startsWith(".") ? partOf(resolve(dirname(from), specifier)) : undefined;
}

/** TypeScript files below a folder, without build output. */
function sourcesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return /^(dist|node_modules)$/.test(entry.name) ? [] : sourcesBelow(path);
    return /(?<!\.d)\.ts$/.test(entry.name) ? [path] : [];
  });
}

/** Loaded when first needed: tools read the boundaries alone. */
const typescript = () => createRequire(import.meta.url)("typescript");

/** The files that a file imports by relative path, whether as types or values. */
function importsOf(file, text) {
  return typescript()
    .preProcessFile(text, true, true)
    .importedFiles.map(({ fileName }) => fileName)
    .filter((specifier) => specifier.startsWith("."))
    .map((specifier) => resolve(dirname(file), specifier).replace(/\.js$/, ".ts"));
}

let graph;

/** File → the files that it imports, of the generator and the runtime. Read once. */
function importGraph() {
  graph ??= new Map(
    ["generator", "runtime"]
      .map((folder) => join(ROOT, folder))
      .filter(existsSync)
      .flatMap(sourcesBelow)
      .map((file) => [file, importsOf(file, readFileSync(file, "utf8"))]),
  );
  return graph;
}

/** Whether imports lead from one file to another. */
function leadsTo(from, to) {
  const seen = new Set();
  const visit = (file) => {
    if (file === to) return true;
    if (seen.has(file)) return false;
    seen.add(file);
    return (importGraph().get(file) ?? []).some(visit);
  };
  return visit(from);
}

const rule = {
  meta: {
    type: "problem",
    schema: [],
    messages: {
      boundary: "{{from}}/ may not import {{to}}: see .config/import-boundaries.js.",
      circle: "{{specifier}} imports this file, directly or through others: imports may not form a circle.",
    },
  },
  create(context) {
    const from = partOf(context.filename);
    if (from === undefined) return {};
    const check = ({ source }) => {
      if (typeof source?.value !== "string") return;
      const specifier = source.value;
      if (specifier.startsWith(".")) {
        const file = resolve(dirname(context.filename), specifier).replace(/\.js$/, ".ts");
        if (leadsTo(file, context.filename))
          context.report({ node: source, messageId: "circle", data: { specifier } });
      }
      const to = targetOf(context.filename, specifier);
      if (to === undefined || to === from || BOUNDARIES[from].includes(to)) return;
      context.report({ node: source, messageId: "boundary", data: { from, to } });
    };
    return {
      ImportDeclaration: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
      ImportExpression: check,
      TSImportType: ({ source }) => check({ source }),
    };
  },
};

export default { rules: { "import-boundaries": rule } };
