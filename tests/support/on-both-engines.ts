/** Suites that run on both engines. */
export const ON_BOTH_ENGINES: string[] = [
  "bodies",
  "filters",
  "formats",
  "headers",
  "injection",
  "malformed",
  "methods",
  "pages",
  "properties",
  "required-filters",
  "sorting",
  "system",
]
  .map((name) => `tests/data-api/${name}.test.ts`)
  .concat(["costly-requests", "tunnels"].map((name) => `tests/hostile/${name}.test.ts`));
