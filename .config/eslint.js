import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";
import bounded from "./bounded.js";
import importBoundaries from "./import-boundaries.js";

export default defineConfig(
  {
    ignores: [
      "**/dist/",
      "**/node_modules/",
      "generated/",
      "tests/golden*/",
      ".data/",
      ".cache/",
      "templates/starter/",
      // Generated.
      "runtime/filter/parser.ts",
      // Of others.
      "runtime/pages/redoc/",
    ],
  },
  {
    files: ["**/*.ts"],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    plugins: { routewright: importBoundaries },
    rules: {
      "routewright/import-boundaries": "error",
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/switch-exhaustiveness-check": [
        "error",
        { considerDefaultExhaustiveForUnions: true },
      ],
      "@typescript-eslint/consistent-type-imports": "error",
      "@typescript-eslint/no-confusing-void-expression": "off",
      "max-lines": ["error", { max: 300, skipBlankLines: true, skipComments: true }],
    },
  },
  {
    // What callers, tenants and sources can make grow (runtime/docs/operations.md, Caches). Pages run in a browser.
    files: ["runtime/**/*.ts"],
    ignores: [
      "runtime/pages/explorer/**",
      "runtime/pages/guide/**",
      "runtime/pages/reference/**",
      "runtime/pages/status/**",
    ],
    plugins: { bounded },
    rules: {
      "bounded/bounded-collections": "error",
      "no-restricted-imports": [
        "error",
        {
          name: "lru-cache",
          message:
            "What is kept by a text is a BoundedCache (runtime/core/http/bounded-cache.ts): bounded in bytes.",
        },
      ],
    },
  },
  {
    files: ["runtime/**/*.ts", "generator/**/*.ts"],
    ignores: ["runtime/core/model/timer.ts"],
    plugins: { bounded },
    rules: { "bounded/computed-timers": "error" },
  },
  {
    // Only warehouse/ and metrics/ make SQL: others see its types.
    files: ["runtime/**/*.ts"],
    ignores: ["runtime/{core/warehouse,metrics,postgres,clickhouse,ramp}/**"],
    rules: {
      "@typescript-eslint/no-restricted-imports": [
        "error",
        {
          patterns: [
            {
              regex: "warehouse/sql\\.js$",
              allowTypeImports: true,
              message: "SQL is made for warehouses, by the engines and runtime/metrics/ only.",
            },
          ],
        },
      ],
    },
  },
  {
    // Between the begin and the end of a transaction nothing is awaited but the database: each connection is one that others wait for.
    files: ["runtime/ramp/**/*.ts"],
    ignores: ["runtime/ramp/database/session.ts"],
    rules: {
      "no-restricted-syntax": [
        "error",
        {
          selector:
            ':function:matches([params.0.name="tx"], [params.1.name="tx"]) AwaitExpression:not(:has(Identifier[name="tx"]))',
          message:
            "In a transaction await nothing but the database: what is awaited is called with tx, or on it.",
        },
      ],
    },
  },
  {
    // One table of all errors, whose length is their number.
    files: ["runtime/core/model/errors.ts"],
    rules: { "max-lines": "off" },
  },
  {
    // Tests read JSON answers as they come, and a table of cases may be long.
    files: ["tests/**/*.ts"],
    rules: {
      "max-lines": ["error", { max: 350, skipBlankLines: true, skipComments: true }],
      "@typescript-eslint/no-unsafe-assignment": "off",
      "@typescript-eslint/no-unsafe-member-access": "off",
      "@typescript-eslint/no-unsafe-argument": "off",
      "@typescript-eslint/no-unsafe-return": "off",
      "@typescript-eslint/no-unsafe-call": "off",
      "@typescript-eslint/no-non-null-assertion": "off",
      "@typescript-eslint/no-base-to-string": "off",
      "@typescript-eslint/unbound-method": "off",
    },
  },
  {
    files: ["**/*.js"],
    plugins: { routewright: importBoundaries },
    rules: { "routewright/import-boundaries": "error" },
  },
);
