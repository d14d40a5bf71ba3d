/**
 * Puts into the packages what is not compiled: the bundles of Redoc and the MCP server into the runtime, which then needs
 * none of their dependencies, and the templates for CI, clients and containers into the command line.
 */
import { build } from "esbuild";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const assets = fileURLToPath(new URL("../../runtime/dist/assets", import.meta.url));
const { resolve } = createRequire(import.meta.url);
const redoc = resolve("redoc/bundles/redoc.standalone.js");

/** Redoc's side menu ends with a picture from its maker's host; pages of this project load nothing from other hosts. */
const LOGO = "https://cdn.redoc.ly/redoc/logo-mini.svg";
const EMPTY_PICTURE = "data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22/%3E";

const script = readFileSync(redoc, "utf8");
if (!script.includes(LOGO)) throw new Error(`${redoc} no longer loads ${LOGO}: look what it loads instead.`);
mkdirSync(assets, { recursive: true });
writeFileSync(`${assets}/redoc.js`, script.replaceAll(LOGO, EMPTY_PICTURE));

/** Of the MCP SDK only the server is bundled. Ajv is a dependency of the runtime already. */
await build({
  stdin: {
    contents: `
      export { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
      export { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
      export { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";`,
    resolveDir: fileURLToPath(new URL("../..", import.meta.url)),
  },
  outfile: `${assets}/mcp.js`,
  bundle: true,
  minify: true,
  format: "esm",
  platform: "node",
  target: "node20",
  external: ["ajv", "ajv-formats"],
  legalComments: "eof",
  logLevel: "warning",
});

for (const name of ["ci", "client", "docker"])
  cpSync(
    new URL(`../../templates/${name}`, import.meta.url),
    new URL(`../../generator/dist/templates/${name}`, import.meta.url),
    {
      recursive: true,
    },
  );
