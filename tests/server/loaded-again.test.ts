/** Code that is loaded at its first use is loaded again where that failed, such as for want of a file descriptor. */
import { expect, it } from "vitest";
import { databaseUrl, ownSchema } from "../support/database.js";
import { type RequestOptions, sendRequest } from "../support/http-client.js";
import { manifestOf } from "../support/manifest.js";
import { serve } from "../support/command.js";
import { ownInstallation } from "../support/service.js";

const schema = await ownSchema("CREATE TABLE @.a AS SELECT 1 AS id");
const folder = ownInstallation(
  manifestOf([{ name: "a", schema, tags: ["production", "s", "api:a"], columns: { id: "int" } }]),
);

const moduleOf = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`;

/** Options of Node with which the first load of each of these files fails. */
function failingOnce(files: readonly string[]): string {
  const hooks = `const left = new Set(${JSON.stringify(files)});
    export async function resolve(specifier, context, next) {
      for (const file of left)
        if (specifier.endsWith(file) && left.delete(file)) throw new Error("too many open files");
      return next(specifier, context);
    }`;
  const register = `import { register } from "node:module"; register(${JSON.stringify(moduleOf(hooks))});`;
  return `--import=${moduleOf(register)}`;
}

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } },
};
const REQUESTS: Readonly<Record<string, readonly [path: string, options?: RequestOptions]>> = {
  "/odata/odata.js": ["/odata"],
  "/prometheus.js": ["/metrics"],
  "/metrics/metrics.js": ["/v1/system/values?path=/v1/s/a&column=id"],
  "/assets/mcp.js": [
    "/mcp",
    {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: JSON.stringify(INITIALIZE),
    },
  ],
};

it("a request whose code cannot be loaded gets 500, and the next one its answer", async () => {
  const { url } = await serve(folder, ["--only", "data"], {
    DATABASE_URL: databaseUrl,
    USAGE_ENABLED: "false",
    NODE_OPTIONS: failingOnce(Object.keys(REQUESTS)),
  });
  for (const [file, [path, options]] of Object.entries(REQUESTS)) {
    const statuses = [];
    for (let n = 0; n < 2; n++) statuses.push((await sendRequest(url, path, options)).status);
    expect([file, ...statuses]).toEqual([file, 500, 200]);
  }
});
