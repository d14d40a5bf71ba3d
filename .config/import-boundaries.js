/**
 * A lint rule: which folder may import which, and that no imports form a circle, type imports included. Imports run one
 * way. A file belongs to the longest listed folder that contains it; a folder may import itself and the folders listed
 * for it, nothing else, and each listed one is imported.
 */
import { createRequire } from "node:module";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** Words of a text. */
const list = ([text]) => text.split(/\s+/).filter((word) => word !== "");

/** `part: what its code may load when it is used, by import()`: an arrow of its own, which forms no circle. */
export const LOADED_WHEN_USED = {
  "generator/suggest": list`generator/ddl`,
  "runtime/core/warehouse": list`runtime/metrics`,
  "runtime/core/request": list`runtime/filter`,
  "runtime/core/handler": list`runtime/postgres runtime/clickhouse`,
  "runtime/server": list`runtime/postgres runtime/postgres/embedded`,
  "runtime/server/operations": list`runtime/postgres`,
  "runtime/ramp": list`runtime/postgres/embedded runtime/pages`,
};

/** `part: what it may import besides itself`, in the order of the arrows. Packages are free, except our own. */
export const BOUNDARIES = {
  "generator/artifacts": list`@routewright/runtime`,
  "generator/manifest": list`generator/artifacts @routewright/runtime`,
  "generator/catalogue": list`generator/manifest @routewright/runtime`,
  "generator/report": list`generator/artifacts generator/manifest @routewright/runtime`,
  "generator/diff": list`
    generator/artifacts generator/manifest generator/catalogue generator/report @routewright/runtime`,
  "generator/render": list`generator/manifest generator/catalogue generator/diff @routewright/runtime`,
  "generator/output": list`generator/manifest generator/render @routewright/runtime`,
  "generator/lint": list`
    generator/artifacts generator/manifest generator/catalogue generator/report @routewright/runtime`,
  "generator/verify": list`
    generator/manifest generator/catalogue generator/diff generator/report @routewright/runtime`,
  "generator/ddl": list`generator/catalogue generator/verify @routewright/runtime`,
  "generator/suggest": list`
    generator/manifest generator/catalogue generator/report generator/diff generator/verify
    @routewright/runtime`,
  "generator/watch": list`
    generator/artifacts generator/manifest generator/catalogue generator/render generator/diff @routewright/runtime`,
  "generator/commands": list`
    generator generator/artifacts generator/manifest generator/catalogue generator/render generator/output generator/report
    generator/diff generator/lint generator/verify generator/ddl generator/suggest generator/watch @routewright/runtime @routewright/ramp`,
  generator: list`
    generator/artifacts generator/manifest generator/catalogue generator/report generator/diff generator/lint
    generator/verify generator/commands @routewright/runtime`,
  // The core imports no other room.
  "runtime/core": [],
  "runtime/core/model": [],
  "runtime/core/http": list`runtime/core/model`,
  "runtime/core/environment": list`runtime/core/model runtime/core/http`,
  "runtime/core/request/rate-limit": list`runtime/core/model runtime/core/http`,
  "runtime/core/request": list`runtime/core/model runtime/core/http runtime/core/request/rate-limit`,
  "runtime/core/warehouse": list`runtime/core/model runtime/core/http`,
  "runtime/core/response": list`runtime/core/model runtime/core/http runtime/core/warehouse`,
  "runtime/core/handler": list`
    runtime/core/model runtime/core/http runtime/core/request runtime/core/request/rate-limit runtime/core/warehouse
    runtime/core/response`,
  "runtime/filter": list`runtime/core/model runtime/core/warehouse`,
  "runtime/metrics": list`runtime/core/model runtime/core/request runtime/core/warehouse`,
  "runtime/postgres/connection": list`runtime/core/model runtime/core/http`,
  "runtime/postgres/embedded": list`runtime/core/model`,
  "runtime/postgres": list`runtime/core/model runtime/core/http runtime/core/warehouse runtime/postgres/connection`,
  "runtime/clickhouse": list`runtime/core/model runtime/core/http runtime/core/warehouse`,
  "runtime/webhooks": list`runtime/core/http`,
  "runtime/pages": list`
    runtime/filter runtime/core/model runtime/core/http runtime/core/warehouse runtime/core/response runtime/core/handler`,
  "runtime/server/operations": list`
    runtime/core/model runtime/core/http runtime/core/environment runtime/core/request runtime/core/warehouse
    runtime/core/handler`,
  "runtime/server/release": list`runtime/core/model runtime/core/http runtime/core/warehouse runtime/core/handler`,
  "runtime/server/operations/workers": list`
    runtime/core/model runtime/core/http runtime/core/warehouse runtime/server/operations runtime/server/release`,
  "runtime/server/system": list`
    runtime/core/model runtime/core/http runtime/core/response runtime/core/handler runtime/server/operations
    runtime/server/release`,
  "runtime/server/mcp": list`
    runtime/core/model runtime/core/http runtime/core/request runtime/core/response runtime/core/handler runtime/pages`,
  "runtime/server/events": list`
    runtime/core/model runtime/core/http runtime/core/request runtime/core/warehouse runtime/core/handler
    runtime/webhooks runtime/postgres runtime/postgres/connection`,
  "runtime/server/odata": list`
    runtime/core/model runtime/core/http runtime/core/request runtime/core/warehouse runtime/core/response
    runtime/core/handler runtime/pages`,
  "runtime/server/accounts": list`
    runtime/core/model runtime/core/http runtime/core/request runtime/core/request/rate-limit runtime/core/handler
    runtime/postgres runtime/postgres/connection runtime/pages runtime/webhooks runtime/server/events`,
  "runtime/server": list`
    runtime/core/model runtime/core/http runtime/core/environment runtime/core/request runtime/core/warehouse
    runtime/core/response runtime/core/handler runtime/postgres runtime/postgres/embedded runtime/pages
    runtime/server/accounts runtime/server/events runtime/server/operations runtime/server/operations/workers
    runtime/server/release runtime/server/system runtime/server/mcp runtime/server/odata`,
  "runtime/ramp/database": list`runtime/core/model runtime/postgres/connection`,
  "runtime/ramp/accounts": list`runtime/core/model runtime/ramp/database`,
  "runtime/ramp/core": list`runtime/core/model runtime/core/http runtime/webhooks runtime/ramp/database runtime/ramp/accounts`,
  "runtime/ramp/sign-in": list`runtime/core/http runtime/ramp/database runtime/ramp/accounts runtime/ramp/core`,
  "runtime/ramp/providers": list`runtime/core/model runtime/core/http runtime/ramp/database runtime/ramp/accounts runtime/ramp/core`,
  "runtime/ramp/webhooks": list`runtime/core/model runtime/core/http runtime/webhooks runtime/ramp/database runtime/ramp/core`,
  "runtime/ramp/intents": list`
    runtime/core/http runtime/ramp/database runtime/ramp/accounts runtime/ramp/core runtime/ramp/providers
    runtime/ramp/webhooks`,
  "runtime/ramp/hosted-pages": list`
    runtime/core/http runtime/ramp/database runtime/ramp/accounts runtime/ramp/core runtime/ramp/providers
    runtime/ramp/intents`,
  "runtime/ramp/api": list`
    runtime/core/model runtime/core/http runtime/core/request/rate-limit runtime/ramp/database runtime/ramp/accounts
    runtime/ramp/core runtime/ramp/sign-in runtime/ramp/providers runtime/ramp/webhooks
    runtime/ramp/intents runtime/ramp/hosted-pages`,
  "runtime/ramp/operator": list`
    runtime/core/model runtime/core/http runtime/ramp/database runtime/ramp/accounts runtime/ramp/core
    runtime/ramp/sign-in runtime/ramp/providers runtime/ramp/webhooks runtime/ramp/intents`,
  "runtime/ramp/sandbox": list`
    runtime/core/model runtime/core/http runtime/ramp/accounts runtime/ramp/core runtime/ramp/providers`,
  "runtime/ramp": list`
    runtime/core/model runtime/core/http runtime/core/environment runtime/core/request/rate-limit runtime/webhooks
    runtime/ramp/operator runtime/ramp/sandbox runtime/ramp/database runtime/ramp/accounts
    runtime/ramp/core runtime/ramp/sign-in runtime/ramp/providers runtime/ramp/webhooks
    runtime/ramp/intents runtime/ramp/api`,
  // The public API, and what the generator reads.
  runtime: list`
    runtime/core/model runtime/core/http runtime/core/environment runtime/core/request runtime/core/warehouse
    runtime/core/handler`,
};

const PARTS = Object.keys(BOUNDARIES).sort((a, b) => b.length - a.length);

/** The part that holds a file, or undefined outside all of them. */
function partOf(file) {
  const path = relative(ROOT, file).split(sep).join("/");
  return PARTS.find((part) => path.startsWith(`${part}/`));
}

const isOfRamp = (part) => /^runtime\/ramp(\/|$)/.test(part);

/** How the ramp, a package of its own, names files of the runtime. */
const INTERNAL = /^@routewright\/runtime\/internal\//;

/** The file that a specifier names, of our sources. */
function fileOf(from, specifier) {
  const path = INTERNAL.test(specifier)
    ? join(ROOT, "runtime", specifier.replace(INTERNAL, ""))
    : resolve(dirname(from), specifier);
  return path.replace(/\.js$/, ".ts");
}

const namesFile = (specifier) => specifier.startsWith(".") || INTERNAL.test(specifier);

function targetOf(from, specifier) {
  if (namesFile(specifier)) return partOf(fileOf(from, specifier));
  if (specifier === "routewright") return "generator";
  return /^@routewright\/(runtime|ramp)(?=\/|$)/.exec(specifier)?.[0];
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

/** The files that a file imports by relative path, whether as types or values; without those that it loads when it is used. */
function importsOf(file, text) {
  return typescript()
    .preProcessFile(text, true, true)
    .importedFiles.filter(({ pos }) => !/\bimport\(\s*["']?$/.test(text.slice(0, pos)))
    .map(({ fileName }) => fileName)
    .filter(namesFile)
    .map((specifier) => fileOf(file, specifier));
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

/** Permissions that no import uses, as `from → to`. */
export function unusedPermissions(boundaries = BOUNDARIES) {
  const used = new Set(
    [...importGraph()].flatMap(([file, imports]) => [
      ...imports.map((target) => `${partOf(file)} → ${partOf(target)}`),
      ...PACKAGES.filter((name) => importsPackage(file, name)).map((name) => `${partOf(file)} → ${name}`),
    ]),
  );
  return Object.entries(boundaries)
    .flatMap(([from, targets]) => targets.map((to) => `${from} → ${to}`))
    .filter((permission) => !used.has(permission));
}

const PACKAGES = ["@routewright/runtime", "@routewright/ramp"];

function importsPackage(file, name) {
  return readFileSync(file, "utf8").includes(`"${name}`);
}

const rule = {
  meta: {
    type: "problem",
    schema: [],
    messages: {
      boundary: "{{from}}/ may not import {{to}}: see .config/import-boundaries.js.",
      unused: "No import uses the permission {{permission}}: remove it.",
      package:
        "The ramp is a package of its own: no path leads into it or out of it. It imports @routewright/runtime/internal/….",
      circle: "{{specifier}} imports this file, directly or through others: imports may not form a circle.",
    },
  },
  create(context) {
    if (context.filename === fileURLToPath(import.meta.url)) {
      const report = (node) => (permission) =>
        context.report({ node, messageId: "unused", data: { permission } });
      return { Program: (node) => unusedPermissions().forEach(report(node)) };
    }
    const from = partOf(context.filename);
    if (from === undefined) return {};
    const check = ({ source, type }) => {
      if (typeof source?.value !== "string") return;
      const specifier = source.value;
      if (namesFile(specifier) && type !== "ImportExpression") {
        if (leadsTo(fileOf(context.filename, specifier), context.filename))
          context.report({ node: source, messageId: "circle", data: { specifier } });
      }
      const to = targetOf(context.filename, specifier);
      if (specifier.startsWith(".") && to !== undefined && isOfRamp(from) !== isOfRamp(to))
        context.report({ node: source, messageId: "package" });
      if (to === undefined || to === from || BOUNDARIES[from].includes(to)) return;
      if (type === "ImportExpression" && LOADED_WHEN_USED[from]?.includes(to)) return;
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
