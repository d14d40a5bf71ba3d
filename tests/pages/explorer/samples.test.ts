/** The samples of the explorer are run as they are copied: each reads every row. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { execFile } from "node:child_process";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { atEnd } from "../../support/at-end.js";
import { ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { needs, programPath } from "../../support/needs.js";
import { KEYS, serveManifest } from "../../support/service.js";
import { suiteBrowser } from "../browser.js";
import { expectAccessible, visit } from "./page.js";

const schema = await ownSchema(
  `CREATE TABLE @.orders AS SELECT i AS id, CASE WHEN i % 5 = 0 THEN NULL ELSE 'it''s "' || i || '"' END AS label, i * 1.5 AS amount
     FROM generate_series(1, 45) AS i`,
);
const paged = (response: string) => ({
  allow_unfiltered: true,
  parameters: [{ name: "label", column: "label", operator: "IN", type: "string_list" }],
  pagination: { enabled: true, default_limit: 5, max_limit: 20, response },
  sort: [{ column: "id", direction: "ASC" }],
});
const url = await serveManifest(
  manifestOf(
    (
      [
        ["list", [], paged("list")],
        ["envelope", ["tier1"], paged("envelope")],
        ["whole", ["tier1"], { allow_unfiltered: true }],
      ] as const
    ).map(([name, tags, api]) => ({
      ...{ name, schema, alias: "orders", api, tags: ["production", "shop", `api:${name}`, ...tags] },
      columns: { id: "int", label: "text", amount: "numeric" },
    })),
  ),
  { RATE_LIMITS: "100000" },
);

const execute = promisify(execFile);

/** How each sample is run, and what prints its number of rows and the sum of their ids. */
const RUNS = {
  curl: ["sh", "sample.sh", (text: string) => `${text}\n`],
  Python: [
    "python3",
    "sample.py",
    (text: string) => `${text}\nprint(len(rows), sum(row["id"] for row in rows))`,
  ],
  pandas: ["python3", "sample.py", (text: string) => `${text}\nprint(len(rows), rows["id"].sum())`],
  polars: ["python3", "sample.py", (text: string) => `${text}\nprint(len(rows), rows["id"].sum())`],
  JavaScript: [
    process.execPath,
    "sample.mjs",
    (text: string) => `${text}\nconsole.log(rows.length, rows.reduce((sum, { id }) => sum + id, 0));`,
  ],
} as const;

/** DuckDB's command, by its Python package: with `-c` its argument, else what it reads. */
const DUCKDB = `#!/usr/bin/env python3
import sys, duckdb, duckdb_extensions
duckdb_extensions.import_extension("httpfs")
for statement in duckdb.extract_statements(sys.argv[2] if len(sys.argv) > 2 else sys.stdin.read()):
    print(duckdb.execute(statement).fetchall())
`;

/** Runs the text of a sample in a folder of its own; the service runs in this process, which must not wait for it. */
async function run(program: string, file: string, text: string) {
  const folder = mkdtempSync(join(tmpdir(), "routewright-sample-"));
  atEnd(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, file), text);
  writeFileSync(join(folder, "duckdb"), DUCKDB, { mode: 0o755 });
  const PATH = [folder, dirname(programPath("python3")), process.env["PATH"]].join(delimiter);
  const env = { ...process.env, PATH, API_KEY: KEYS.tier1 };
  const { stdout } = await execute(program, [file], { cwd: folder, env });
  return { folder, stdout: stdout.trim() };
}

describe.skipIf(!needs("chromium") || !needs("python3"))("a sample of code", () => {
  const browser = suiteBrowser();

  async function sampleOf(path: string, language: string): Promise<string> {
    const { page, problems } = await visit(browser.context, url, `/explore?endpoint=/v1/shop/${path}`, {
      key: KEYS.tier1,
    });
    await page.getByRole("button", { name: language, exact: true }).click();
    const text = await page.locator(".samples .code").textContent();
    expect(problems).toEqual([]);
    await page.close();
    return text ?? "";
  }

  it.each(
    (["list", "envelope", "whole"] as const).flatMap((path) =>
      (["Python", "pandas", "polars", "JavaScript"] as const).map((language) => [language, path] as const),
    ),
  )("in %s reads all rows of an endpoint: %s", async (language, path) => {
    const [program, file, printing] = RUNS[language];
    const { stdout } = await run(program, file, printing(await sampleOf(path, language)));
    expect(stdout).toBe("45 1035");
  });

  it.each(["list", "envelope"])("by curl reads all pages into one file: %s", async (path) => {
    const { folder } = await run("sh", "sample.sh", await sampleOf(path, "curl"));
    const rows = readFileSync(join(folder, "rows.ndjson"), "utf8").trim().split("\n");
    expect(rows).toHaveLength(45);
    expect(JSON.parse(rows[1] ?? "")).toEqual({ id: 2, label: `it's "2"`, amount: 3 });
  });

  it("by curl prints what is one answer", async () => {
    const { stdout } = await run("sh", "sample.sh", await sampleOf("whole", "curl"));
    expect(JSON.parse(stdout)).toHaveLength(45);
  });

  it("by DuckDB has all rows", async () => {
    const paged = (await sampleOf("list", "DuckDB")).replace("SELECT *", "SELECT count(*), sum(id)");
    expect((await run("sh", "sample.sh", paged)).stdout).toMatch(/45[^\d]+1035/);
    const { stdout } = await run(
      "sh",
      "sample.sh",
      `duckdb <<'END'\n${(await sampleOf("whole", "DuckDB"))
        .replace("INSTALL httpfs;\nLOAD httpfs;", "")
        .replace("your key", KEYS.tier1)
        .replace("SELECT *", "SELECT count(*), sum(id)")}\nEND`,
    );
    expect(stdout).toMatch(/45[^\d]+1035/);
  });

  it("in TypeScript names the row, and passes the compiler", async () => {
    const text = await sampleOf("envelope", "TypeScript");
    expect(text).toContain(
      "interface Row {\n  id: number | null;\n  label: string | null;\n  amount: number | null;\n}",
    );
    const { stdout } = await run(
      process.execPath,
      "sample.mjs",
      `
      import ts from ${JSON.stringify(import.meta.resolve("typescript"))};
      const text = ${JSON.stringify(`declare const process: { env: Record<string, string | undefined> };\n${text}\nexport {};`)};
      const options = { strict: true, target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, noEmit: true };
      const host = ts.createCompilerHost(options);
      const read = host.getSourceFile;
      host.getSourceFile = (name, ...rest) => name === "sample.ts" ? ts.createSourceFile(name, text, rest[0]) : read(name, ...rest);
      const found = ts.getPreEmitDiagnostics(ts.createProgram(["sample.ts"], options, host));
      console.log(found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, " ")).join("\\n"));`,
    );
    expect(stdout).toBe("");
  });

  it("keeps a limit of the request's own, and names no key", async () => {
    const limited = 'list&p.limit=3&p.label=it\'s "1"';
    expect(await sampleOf(limited, "curl")).toBe(
      `curl -fsS -H "X-API-Key: $API_KEY" '${url}/v1/shop/list?limit=3&label=it%27s+%221%22'`,
    );
    const [program, file, printing] = RUNS.Python;
    expect((await run(program, file, printing(await sampleOf(limited, "Python")))).stdout).toBe("1 1");
    for (const language of ["R", "Power Query", "DuckDB", "polars"])
      expect(await sampleOf("envelope", language)).not.toContain(KEYS.tier1);
  });

  it("is coloured, readable in both themes, and copied as it is", async () => {
    const { page } = await visit(browser.context, url, "/explore?endpoint=/v1/shop/list", {
      colorScheme: "dark",
    });
    await page.getByRole("button", { name: "JavaScript" }).click();
    expect(await page.locator(".samples .code-string").first().innerText()).toBe(
      `"${url}/v1/shop/list?limit=20"`,
    );
    expect(await page.locator(".samples .code-word").allInnerTexts()).toContain("await");
    await expectAccessible(page);
  });
});
