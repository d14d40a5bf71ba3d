/**
 * Lint rules of what a caller, a tenant or a source may make grow: a collection that lives as long as the process or an object says
 * what bounds it, and a timer of a computed time is one of `runtime/core/model/timer.ts`, since Node's end at once beyond 24.8 days.
 */

/** Of a comment: bounded by something. */
const SAYS_BOUND = /\bbound(s|ed)?\b/i;

/** Whether a value is an empty collection, which only grows. */
function isEmptyCollection(value) {
  if (value?.type === "TSAsExpression") return isEmptyCollection(value.expression);
  if (value?.type === "NewExpression")
    return value.arguments.length === 0 && ["Map", "Set"].includes(value.callee.name);
  return value?.type === "CallExpression" && /^Object\.create$/.test(nameOf(value.callee));
}

const nameOf = (node) =>
  node.type === "MemberExpression" && !node.computed
    ? `${nameOf(node.object)}.${node.property.name}`
    : (node.name ?? "");

const collections = {
  meta: {
    type: "problem",
    schema: [],
    messages: {
      unbounded:
        "Say in a comment what bounds this collection (“Bounded by …”). What is kept by a text that a caller chose is a BoundedCache (runtime/core/http/bounded-cache.ts).",
    },
  },
  create(context) {
    const { sourceCode } = context;
    const check = (node, value) => {
      if (!isEmptyCollection(value)) return;
      if (sourceCode.getCommentsBefore(node).some((comment) => SAYS_BOUND.test(comment.value))) return;
      context.report({ node, messageId: "unbounded" });
    };
    return {
      PropertyDefinition: (node) => check(node, node.value),
      "Program > VariableDeclaration": (node) => node.declarations.forEach(({ init }) => check(node, init)),
      "Program > ExportNamedDeclaration > VariableDeclaration": (node) =>
        node.declarations.forEach(({ init }) => check(node.parent, init)),
    };
  },
};

/** Which argument of a function is a time. */
const TIMES = { setTimeout: 1, setInterval: 1, "AbortSignal.timeout": 0 };
const PROMISED = "node:timers/promises";

/** A number, a constant by its name, or arithmetic of these. */
function isConstant(node) {
  if (node === undefined) return true;
  if (node.type === "Literal") return true;
  if (node.type === "Identifier") return /^[A-Z][A-Z0-9_]*$/.test(node.name);
  return node.type === "BinaryExpression" && isConstant(node.left) && isConstant(node.right);
}

const timers = {
  meta: {
    type: "problem",
    schema: [],
    messages: {
      computed:
        "Node ends a timer at once whose time is over 24.8 days: for a computed time use Timer, Interval, sleep or signalAfter (runtime/core/model/timer.ts).",
    },
  },
  create(context) {
    // `sleep` or `pause`, as a file calls it.
    const promised = new Set();
    return {
      ImportDeclaration({ source, specifiers }) {
        if (source.value !== PROMISED) return;
        for (const { imported, local } of specifiers)
          if (["setTimeout", "setInterval"].includes(imported?.name)) promised.add(local.name);
      },
      CallExpression(node) {
        const name = nameOf(node.callee);
        const place = promised.has(name) ? 0 : TIMES[name];
        if (place === undefined || isConstant(node.arguments[place])) return;
        context.report({ node, messageId: "computed" });
      },
    };
  },
};

export default { rules: { "bounded-collections": collections, "computed-timers": timers } };
