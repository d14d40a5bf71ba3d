import { ESLint, Linter } from "eslint";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import tseslint from "typescript-eslint";

const root = fileURLToPath(new URL("../..", import.meta.url));
const { default: bounded } = (await import(`${root}/.config/bounded.js`)) as { default: ESLint.Plugin };

/** The rules that a text breaks. */
function broken(text: string): readonly string[] {
  const linter = new Linter();
  const found = linter.verify(
    text,
    [
      {
        files: ["**/*.ts"],
        languageOptions: { parser: tseslint.parser },
        plugins: { bounded },
        rules: { "bounded/bounded-collections": "error", "bounded/computed-timers": "error" },
      },
    ],
    "a.ts",
  );
  return found.map(({ ruleId, message }) => ruleId ?? message);
}

it.each([
  "class A { readonly #a = new Map<string, number>(); }",
  "class A { a: ReadonlySet<string> = new Set(); }",
  "class A { /** By text. */ readonly #a = Object.create(null) as Record<string, number>; }",
  "const known = new Map<string, number>();",
  "export const known = new Set<string>();",
])("a collection that lives on says what bounds it: %s", (text) => {
  expect(broken(text)).toEqual(["bounded/bounded-collections"]);
});

it.each([
  "class A { /** By text. Bounded by the formats. */ readonly #a = new Map<string, number>(); }",
  "/** Bounded by MAX. */\nconst known = new Map<string, number>();",
  'const KINDS = new Set(["a"]);',
  "function f() { return new Map<string, number>(); }",
])("one that says it, that is constant or that ends is none: %s", (text) => {
  expect(broken(text)).toEqual([]);
});

it.each([
  "setTimeout(act, left);",
  "setInterval(act, options.intervalMs ?? INTERVAL_MS);",
  "fetch(url, { signal: AbortSignal.timeout(timeoutMs) });",
  'import { setTimeout as pause } from "node:timers/promises"; await pause(pauseMs);',
])("a computed time is no time of Node's timers: %s", (text) => {
  expect(broken(text)).toEqual(["bounded/computed-timers"]);
});

it.each([
  "setTimeout(act); setTimeout(act, 50); setInterval(act, CHECK_MS); setTimeout(act, 2 * FLUSH_MS);",
  'import { setTimeout as pause } from "node:timers/promises"; await pause(WAIT_MS, undefined, { ref: false });',
])("a constant is: %s", (text) => {
  expect(broken(text)).toEqual([]);
});

it("nothing else than the one type of cache is imported in the runtime", async () => {
  const eslint = new ESLint({
    cwd: root,
    overrideConfigFile: ".config/eslint.js",
    overrideConfig: { languageOptions: { parserOptions: { projectService: false } } },
    ruleFilter: ({ ruleId }) => ruleId === "no-restricted-imports",
  });
  const [result] = await eslint.lintText('import { LRUCache } from "lru-cache";', {
    filePath: `${root}/runtime/core/response/x.ts`,
  });
  expect(result?.messages.map(({ message }) => message)).toEqual([expect.stringContaining("BoundedCache")]);
});
