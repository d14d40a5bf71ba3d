import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { build } from "esbuild";
import ts from "typescript";
import { expect, it } from "vitest";
import { needs, programPath } from "../support/needs.js";
import { KEYS, ownFolder, serveManifest } from "../support/service.js";
import { starterManifest } from "./starter.js";

const run = promisify(execFile);

/** `args`: its program's arguments beside `api.json`. `client`: a consumer's program. */
const GENERATORS = {
  "openapi-ts": {
    args: ["-i", "api.json", "-o", "generated"],
    client: `
      import { client } from "./generated/client.gen.js";
      import { getBridgesVolumeWeekly, postBridgesTransactions } from "./generated/index.js";
      export async function run(baseUrl: string, key: string) {
        client.setConfig({ baseUrl, headers: { "X-API-Key": key } });
        const busy = await getBridgesVolumeWeekly({
          query: { "transfers[gte]": 300, "week[lt]": "2026-03-01", fields: ["week", "transfers"] },
        });
        const page = await postBridgesTransactions({ body: { token: "usdc", limit: 2 } });
        const refused = await postBridgesTransactions({ body: {} });
        return { busy: busy.data, amounts: page.data?.items.length, detail: refused.error?.detail };
      }`,
  },
  orval: {
    args: ["--input", "api.json", "--output", "generated/api.ts", "--client", "fetch"],
    client: `
      import { getBridgesVolumeWeekly, postBridgesTransactions } from "./generated/api.js";
      export async function run(_: string, key: string) {
        const options = { headers: { "X-API-Key": key } };

        const busy = await getBridgesVolumeWeekly(
          { "transfers[gte]": 300, "week[lt]": "2026-03-01", fields: ["week", "transfers"] },
          options,
        );
        const page = await postBridgesTransactions({ token: "usdc", limit: 2 }, options);
        const refused = await postBridgesTransactions({}, options);
        return {
          busy: busy.status === 200 ? busy.data : null,
          amounts: page.status === 200 ? page.data.items.length : null,
          detail: refused.status === 400 ? refused.data.detail : null,
        };
      }`,
  },
} as const;

const api = await serveManifest(starterManifest());

it.skipIf(!needs("openapi-ts", "orval")).each(Object.entries(GENERATORS))(
  "a client made by %s compiles under strict and calls the running server",
  async (name, { args, client }) => {
    const folder = ownFolder();
    const file = (path: string): string => join(folder, path);
    writeFileSync(file("api.json"), await (await fetch(`${api}/openapi.json`)).text());
    writeFileSync(file("client.ts"), client);
    writeFileSync(file("package.json"), '{"type": "module"}');
    await run(programPath(name as keyof typeof GENERATORS), args, { cwd: folder });
    const program = ts.createProgram([file("client.ts")], {
      ...{ strict: true, noEmit: true, skipLibCheck: true, types: [] },
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.ESNext,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      lib: ["lib.es2023.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
    });
    const complaints = ts
      .getPreEmitDiagnostics(program)
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
    expect(complaints).toEqual([]);
    await build({
      ...{ entryPoints: [file("client.ts")], outfile: file("client.mjs"), bundle: true },
      format: "esm",
      // Orval has the address in its configuration file alone: its addresses are paths.
      ...(name === "orval" && {
        banner: { js: `const fetch = (path, init) => globalThis.fetch("${api}" + path, init);` },
      }),
    });
    const module = (await import(pathToFileURL(file("client.mjs")).href)) as {
      run: (baseUrl: string, key: string) => Promise<{ busy: { week: string; transfers: number }[] }>;
    };
    const answer = await module.run(api, KEYS.tier3);
    expect(answer).toMatchObject({
      amounts: 2,
      detail: "At least one business filter is required for this endpoint.",
    });
    expect(answer.busy.length).toBeGreaterThan(0);
    for (const row of answer.busy) {
      expect(Object.keys(row)).toEqual(["week", "transfers"]);
      expect([row.transfers >= 300, row.week < "2026-03-01"]).toEqual([true, true]);
    }
  },
);
