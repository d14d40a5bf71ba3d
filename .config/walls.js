/**
 * The walls of DESIGN.md as a lint rule: which part of the tree may import which. A part is the longest listed folder
 * that holds a file. What a part may import is listed, everything else is forbidden.
 */
import { dirname, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** `part: what it may import besides itself`. Packages are free, but for our own. */
export const WALLS = {
  "generator/manifest": [],
  "generator/catalogue": ["generator/manifest", "runtime (package)"],
  "generator/openapi": ["generator/manifest", "generator/catalogue", "runtime (package)"],
  "generator/emit": ["generator/manifest", "generator/catalogue", "generator/openapi", "runtime (package)"],
  "generator/diff": [
    "generator/manifest",
    "generator/catalogue",
    "generator/emit",
    "generator/openapi",
    "runtime (package)",
    "generator/report",
  ],
  "generator/report": ["generator/manifest"],
  "generator/lint": [
    "generator/manifest",
    "generator/catalogue",
    "generator/openapi",
    "generator/report",
    "runtime (package)",
  ],
  "generator/watch": ["generator/manifest", "generator/catalogue", "generator/emit", "runtime (package)"],
  generator: [
    "generator/watch",
    "generator/manifest",
    "generator/catalogue",
    "generator/openapi",
    "generator/emit",
    "generator/diff",
    "generator/lint",
    "generator/report",
    "runtime (package)",
  ],
  "runtime/http": [],
  "runtime/docs": ["runtime/http"],
  "runtime/auth": [],
  "runtime/rate-limit": ["runtime/auth"],
  "runtime/query": ["runtime/endpoint"],
  "runtime/warehouse": ["runtime/endpoint", "runtime/query"],
  "runtime/answers": ["runtime/query", "runtime/warehouse"],
  "runtime/environment": ["runtime/auth", "runtime/http"],
  "runtime/endpoint": [
    "runtime/auth",
    "runtime/rate-limit",
    "runtime/query",
    "runtime/warehouse",
    "runtime/answers",
    "runtime/http",
    "runtime",
  ],
  "runtime/usage": ["runtime/auth", "runtime/endpoint", "runtime/http"],
  "runtime/ramp": [
    "runtime/http",
    "runtime/rate-limit",
    "runtime/warehouse",
    "runtime/environment",
    "runtime/docs",
  ],
  "runtime/workers": [
    "runtime/endpoint",
    "runtime/environment",
    "runtime/http",
    "runtime/warehouse",
    "runtime",
  ],
  runtime: [
    "runtime/workers",
    "runtime/http",
    "runtime/docs",
    "runtime/auth",
    "runtime/rate-limit",
    "runtime/endpoint",
    "runtime/warehouse",
    "runtime/environment",
    "runtime/usage",
    "runtime/ramp",
  ],
};

const PARTS = Object.keys(WALLS).sort((a, b) => b.length - a.length);

/** The part that holds a file, or undefined outside all of them. */
function partOf(file) {
  const path = relative(ROOT, file).split(sep).join("/");
  return PARTS.find((part) => path.startsWith(`${part}/`));
}

function targetOf(from, specifier) {
  if (/^@routewright\/runtime(\/|$)/.test(specifier)) return "runtime (package)";
  if (/^@routewright\/generator(\/|$)/.test(specifier)) return "generator";
  return specifier.startsWith(".") ? partOf(resolve(dirname(from), specifier)) : undefined;
}

const rule = {
  meta: {
    type: "problem",
    schema: [],
    messages: { wall: "{{from}}/ may not import {{to}}: see DESIGN.md and .config/walls.js." },
  },
  create(context) {
    const from = partOf(context.filename);
    if (from === undefined) return {};
    const check = ({ source }) => {
      if (typeof source?.value !== "string") return;
      const to = targetOf(context.filename, source.value);
      if (to === undefined || to === from || WALLS[from].includes(to)) return;
      context.report({ node: source, messageId: "wall", data: { from, to } });
    };
    return {
      ImportDeclaration: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
      ImportExpression: check,
    };
  },
};

export default { rules: { walls: rule } };
