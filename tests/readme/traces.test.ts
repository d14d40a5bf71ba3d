/** The page about traces, done as a reader does it: the real SDK, its exporter, and a collector that records. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { atEnd } from "../support/at-end.js";
import { root, startCommand, textOf } from "../support/commands.js";
import { databaseUrl, ownSchema } from "../support/database.js";
import { manifestOf } from "../support/manifest.js";
import { needs, programPath } from "../support/needs.js";
import { ownInstallation } from "../support/service.js";

const PAGE = textOf("runtime/docs/how-to/traces.md");
/** The code of a step, without the indent of the list. */
const codeOf = (language: string, containing: string): string =>
  [...PAGE.matchAll(new RegExp(`^ {3}\`\`\`${language}\\n([\\s\\S]*?)^ {3}\`\`\``, "gm"))]
    .map(([, code = ""]) => code.replaceAll(/^ {3}/gm, "").trim())
    .find((code) => code.includes(containing)) ?? "";

interface SentSpan {
  readonly name: string;
  readonly traceId: string;
}

/** A collector on a port of its own, and what it has got. */
async function collector() {
  const spans: SentSpan[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      response.setHeader("content-type", "application/json").end("{}");
      if (request.url !== "/v1/traces") return;
      const { resourceSpans } = JSON.parse(body) as {
        resourceSpans: { scopeSpans: { spans: SentSpan[] }[] }[];
      };
      spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  atEnd(() => void server.close());
  return { spans, url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}` };
}

/** What `npm install routewright @routewright/runtime` and the page's own install make. */
function installPackages(folder: string): void {
  const modules = join(folder, "node_modules");
  mkdirSync(join(modules, ".bin"), { recursive: true });
  symlinkSync(dirname(programPath("@opentelemetry/sdk-node")), join(modules, "@opentelemetry"));
  symlinkSync(join(root, "node_modules/@routewright"), join(modules, "@routewright"));
  symlinkSync(join(root, "node_modules/.bin/routewright"), join(modules, ".bin/routewright"));
}

const schema = needs("@opentelemetry/sdk-node")
  ? await ownSchema("CREATE TABLE @.rates AS SELECT 1 AS n")
  : null;

it.skipIf(schema === null).each(["", " --workers 2"])(
  "the steps of the page send the spans of each request, those of the last second too:%s",
  async (workers) => {
    const folder = ownInstallation(
      manifestOf([{ name: "rates", schema: schema ?? "", columns: { n: "int" } }]),
    );
    installPackages(folder);
    const { spans, url } = await collector();
    expect(codeOf("sh", "npm install")).toMatch(
      /@opentelemetry\/sdk-node @opentelemetry\/exporter-trace-otlp-http$/,
    );
    writeFileSync(join(folder, "tracing.mjs"), codeOf("js", "NodeSDK"));
    const command = codeOf("sh", "routewright serve").replace("http://127.0.0.1:4318", url);
    const variables = { DATABASE_URL: databaseUrl, PORT: "0", USAGE_ENABLED: "false" };
    const started = /"url":"(http:[^"]+)"/;
    const { match, stop } = await startCommand(
      `${command} --only data${workers}`,
      folder,
      variables,
      started,
    );
    const reply = await fetch(`${match[1] ?? ""}/v1/shop/rates`);
    expect(await reply.json()).toEqual([{ n: 1 }]);
    await stop();
    expect(spans.map(({ name }) => name).sort()).toEqual([
      "GET /v1/shop/rates",
      `SELECT ${schema ?? ""}.rates`,
      "queue",
      "response",
    ]);
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
  },
);
