import { ESLint } from "eslint";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const rule = (await import(`${root}/.config/import-boundaries.js`)) as {
  BOUNDARIES: Record<string, string[]>;
  unusedPermissions: (boundaries: Record<string, string[]>) => string[];
};
const eslint = new ESLint({
  cwd: root,
  overrideConfigFile: ".config/eslint.js",
  // Files that do not exist belong to no TypeScript project, and the boundaries need none.
  overrideConfig: { languageOptions: { parserOptions: { projectService: false } } },
  ruleFilter: ({ ruleId }) =>
    ["routewright/import-boundaries", "@typescript-eslint/no-restricted-imports"].includes(ruleId),
});

async function messagesOf(file: string, code: string): Promise<string[]> {
  const [result] = await eslint.lintText(code, { filePath: `${root}/${file}` });
  return (result?.messages ?? []).map(({ message }) => message);
}

describe("import boundaries", () => {
  it.each([
    ["runtime/server/release/x.ts", `import "../../../generator/cli.js";`],
    ["runtime/server/release/x.ts", `export * from "routewright";`],
    ["runtime/ramp/intents/x.ts", `import "@routewright/runtime/internal/core/response/send.js";`],
    ["runtime/ramp/providers/x.ts", `import type { Intent } from "../intents/intent.js";`],
    ["runtime/ramp/webhooks/x.ts", `import "../intents/intent.js";`],
    ["runtime/ramp/hosted-pages/x.ts", `import "../api/route.js";`],
    ["runtime/ramp/x.ts", `await import("@routewright/runtime/internal/core/handler/handler.js");`],
    ["runtime/ramp/x.ts", `import "@routewright/runtime/internal/pages/pages.js";`],
    ["runtime/server/x.ts", `import "@routewright/ramp/environment";`],
    ["runtime/x.ts", `import "./server/server.js";`],
    ["runtime/core/http/x.ts", `import type { Caller } from "../request/authorize.js";`],
    ["runtime/core/request/x.ts", `import "../warehouse/data-versions.js";`],
    ["runtime/core/warehouse/x.ts", `import "../../postgres/connect.js";`],
    ["runtime/core/warehouse/x.ts", `import "../request/authorize.js";`],
    ["runtime/core/warehouse/x.ts", `import "../../metrics/metrics.js";`],
    ["runtime/core/response/x.ts", `await import("../../metrics/metrics.js");`],
    ["runtime/core/response/x.ts", `import "../request/authorize.js";`],
    ["generator/manifest/x.ts", `import "../catalogue/build.js";`],
    ["generator/catalogue/x.ts", `import "../render/render.js";`],
    ["generator/render/x.ts", `import "../output/folder.js";`],
    ["generator/render/x.ts", `import "../commands/generate.js";`],
    ["generator/render/x.ts", `import "../../runtime/core/model/endpoint.js";`],
  ])("stop %s from %s", async (file, code) => {
    expect(await messagesOf(file, code)).toEqual([expect.stringContaining("may not import")]);
  });

  it.each([
    ["runtime/core/handler/x.ts", `import "../request/page.js"; import "../http/body.js"; import "pg";`],
    ["runtime/ramp/intents/x.ts", `import "../providers/quotes.js"; import "pg";`],
    ["runtime/ramp/core/x.ts", `import "@routewright/runtime/internal/core/model/schema.js";`],
    ["runtime/core/warehouse/x.ts", `await import("../../metrics/metrics.js");`],
    ["generator/render/x.ts", `import "../catalogue/catalogue.js"; import "@routewright/runtime/model";`],
    ["tests/x.ts", `import "../generator/cli.js"; import "../runtime/server/server.js";`],
  ])("let %s through with %s", async (file, code) => {
    expect(await messagesOf(file, code)).toEqual([]);
  });

  it.each([
    ["runtime/ramp/core/x.ts", `import "../../core/model/schema.js";`],
    ["runtime/server/x.ts", `await import("../ramp/environment.js");`],
    ["runtime/server/release/x.ts", `import "../../ramp/intents/intent.js";`],
  ])("stop a path between the packages in %s: %s", async (file, code) => {
    expect(await messagesOf(file, code)).toEqual(
      expect.arrayContaining([expect.stringContaining("a package of its own")]),
    );
  });

  it("let only engines and metrics make SQL", async () => {
    const code = `import { sql } from "../warehouse/sql.js"; export { sql };`;
    expect(await messagesOf("runtime/core/response/x.ts", code)).toEqual([
      expect.stringContaining("SQL is made for warehouses"),
    ]);
  });

  it("hold no permission that no import uses", async () => {
    const file = ".config/import-boundaries.js";
    expect(await messagesOf(file, readFileSync(`${root}/${file}`, "utf8"))).toEqual([]);
    expect(rule.unusedPermissions({ "runtime/postgres/embedded": ["runtime/server/mcp"] })).toEqual([
      "runtime/postgres/embedded → runtime/server/mcp",
    ]);
  });

  it.each(["generator", "runtime", "runtime/ramp"])("name every folder of %s/", (part) => {
    const folders = readdirSync(`${root}/${part}`, { withFileTypes: true })
      .filter((entry) => entry.isDirectory() && !/^(bin|dist|docs|node_modules)$/.test(entry.name))
      .map(({ name }) => `${part}/${name}`);
    expect(Object.keys(rule.BOUNDARIES)).toEqual(expect.arrayContaining(folders));
  });

  it.each([
    ["runtime/core/model/tier.ts", `import type { Endpoint } from "./endpoint.js";`],
    ["runtime/core/http/open-connections.ts", `export * from "./listen.js";`],
    ["runtime/core/http/open-connections.ts", `export type Server = import("./listen.js").Listening;`],
  ])("stop a circle that %s would close", async (file, code) => {
    expect(await messagesOf(file, code)).toEqual([expect.stringContaining("may not form a circle")]);
  });
});
