import { spawn } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { readEnvironment } from "../../../runtime/server/operations/environment.js";
import { suiteBrowser } from "../../pages/browser.js";
import { visit } from "../../pages/explorer/page.js";
import { atEnd } from "../../support/at-end.js";
import { ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { needs, programPath } from "../../support/needs.js";
import { freePort } from "../../support/port.js";
import { stopOf } from "../../support/processes.js";
import { ownFolder, serveManifest } from "../../support/service.js";
import { sendRequest } from "../../support/http-client.js";

const schema = await ownSchema("CREATE TABLE @.sales AS SELECT n::bigint FROM generate_series(1, 3) AS n");
const manifest = manifestOf([
  {
    name: "sales",
    schema,
    tags: ["production", "shop", "api:sales"],
    columns: { n: "bigint" },
    api: {
      allow_unfiltered: true,
      pagination: { enabled: true, default_limit: 2, max_limit: 2 },
      sort: [{ column: "n", direction: "ASC" }],
    },
    routewright: { former_paths: [{ path: "/v1/shop/turnover" }] },
  },
]);

interface Links {
  readonly next: string;
  readonly successor: string;
  readonly server: string;
  readonly docs: string;
  readonly llms: readonly string[];
}

/** All addresses in the responses of a server; `at`: the path below which clients load its documents. */
async function linksOf(url: string, headers: Record<string, string> = {}, at = ""): Promise<Links> {
  const resolved = (link: string): string =>
    link.startsWith(".") ? new URL(link, `http://host${at}/openapi.json`).pathname : link;
  const ask = (path: string) => sendRequest(url, path, { headers });
  const linkOf = async (path: string, rel: string): Promise<string> => {
    const link = [(await ask(path)).headers.link].flat().join(", ");
    return new RegExp(`<([^>]*)>; rel="${rel}"`).exec(link)?.[1] ?? "";
  };
  const { servers } = JSON.parse((await ask("/openapi.json")).text) as { servers: { url: string }[] };
  const { docs } = JSON.parse((await ask("/")).text) as { docs: string };
  const llms = [...(await ask("/llms.txt")).text.matchAll(/\]\(([^)]*)\)/g)].map(([, link = ""]) => link);
  const server = servers[0]?.url ?? "";
  return {
    next: (await linkOf("/v1/shop/sales", "next")).replace(/\?.*$/, ""),
    successor: await linkOf("/v1/shop/turnover", "successor-version"),
    server: resolved(server).replace(/(?<=.)\/$/, ""),
    docs,
    llms: llms.map(resolved),
  };
}

const below = (prefix: string, origin = ""): Links => ({
  next: `${prefix}/v1/shop/sales`,
  successor: `${prefix}/v1/shop/sales`,
  server: origin + prefix || "/",
  docs: `${prefix}/docs`,
  llms: ["/openapi.json", "/mcp", "/v1/shop/sales"].map((path) => origin + prefix + path),
});

describe("addresses in responses", () => {
  it("begin at the root by default, whatever a client sends", async () => {
    const url = await serveManifest(manifest);
    expect(await linksOf(url, { "x-forwarded-prefix": "/evil" })).toEqual(below(""));
  });

  it("begin with PUBLIC_URL", async () => {
    const url = await serveManifest(manifest, { PUBLIC_URL: "https://example.com/data/" });
    expect(await linksOf(url, { "x-forwarded-prefix": "/evil" })).toEqual(
      below("/data", "https://example.com"),
    );
  });

  it("begin with the X-Forwarded-Prefix of a trusted proxy, not of another client", async () => {
    const trusting = await serveManifest(manifest, { TRUST_PROXY: "127.0.0.1" });
    expect(await linksOf(trusting, { "x-forwarded-prefix": "/a/b-1/" }, "/a/b-1")).toEqual(below("/a/b-1"));
    const other = await serveManifest(manifest, { TRUST_PROXY: "10.0.0.1" });
    expect(await linksOf(other, { "x-forwarded-prefix": "/a" })).toEqual(below(""));
  });

  it("are the same document for every prefix: relative to it", async () => {
    const url = await serveManifest(manifest, { TRUST_PROXY: "127.0.0.1" });
    for (const path of ["/openapi.json", "/llms.txt", "/v1/system/changelog.atom", "/v1/system/catalogue"]) {
      const tags = new Set<string | undefined>();
      for (const prefix of ["", "/a", "/b/c"])
        tags.add((await sendRequest(url, path, { headers: { "x-forwarded-prefix": prefix } })).headers.etag);
      expect([path, tags.size]).toEqual([path, 1]);
    }
  });

  it("ignore a prefix that could lead elsewhere", async () => {
    const url = await serveManifest(manifest, { TRUST_PROXY: "1" });
    for (const prefix of [
      "//evil.example",
      "/a//b",
      "/..",
      "/a/../b",
      "/./a",
      "/%2e%2e",
      "/a>; rel=next",
      "/a, /b",
      "https://evil.example",
      "a",
      "/\\evil.example",
      "/a//",
      "/a/.",
      "/..;/a",
      "/a;b",
      "/a?b=",
      "/a#b",
      "/a%2fb",
      "/a%0d%0ab",
      "/a b",
      "/a:b@evil.example",
      "/ÿ",
      `/${"a".repeat(200)}`,
    ])
      expect(await linksOf(url, { "x-forwarded-prefix": prefix }), prefix).toEqual(below(""));
  });

  it.each([
    "https://example.com//data",
    "ftp://example.com",
    "example.com",
    "https://a@example.com",
    "/data",
  ])("a PUBLIC_URL of %s is refused at start", (address) => {
    const reading = readEnvironment({ PUBLIC_URL: address });
    expect(reading).toEqual({
      ok: false,
      problems: ["PUBLIC_URL must be an http:// or https:// address."],
    });
  });
});

describe.skipIf(!needs("chromium", "nginx"))("the pages below a path of a proxy", () => {
  const browser = suiteBrowser();

  it.each(["/explore", "/docs", "/redoc"])("%s loads and reads the API below it", async (path) => {
    const site = await behindNginx(await serveManifest(manifest));
    const { page, problems } = await visit(browser.context, `${site}/data`, path);
    await page.getByText("/v1/shop/sales").first().waitFor();
    expect(problems).toEqual([]);
  });

  it("the explorer reads rows, and its samples have the whole address", async () => {
    const site = await behindNginx(await serveManifest(manifest));
    const { page, problems } = await visit(
      browser.context,
      `${site}/data`,
      "/explore?endpoint=%2Fv1%2Fshop%2Fsales",
    );
    await expect.poll(() => page.locator(".rowsview tbody tr").count()).toBe(2);
    expect(await page.content()).toContain(`${site}/data/v1/shop/sales`);
    expect(problems).toEqual([]);
  });

  it("a page with a slash behind it leads to the one without", async () => {
    const site = await behindNginx(await serveManifest(manifest));
    const response = await fetch(`${site}/data/docs/`);
    expect([response.status, response.url]).toEqual([200, `${site}/data/docs`]);
  });
});

/** nginx that serves the API below `/data/` and nothing else. */
async function behindNginx(upstream: string): Promise<string> {
  const folder = ownFolder();
  chmodSync(folder, 0o777);
  const port = await freePort();
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${folder};`,
  );
  writeFileSync(
    join(folder, "nginx.conf"),
    `daemon off; pid ${folder}/pid; error_log ${folder}/error.log; events {} http { access_log off; ${paths.join(" ")}
     server { listen 127.0.0.1:${String(port)}; location /data/ { proxy_pass ${upstream}/; } } }`,
  );
  const nginx = spawn(programPath("nginx"), ["-p", folder, "-c", "nginx.conf", "-e", `${folder}/error.log`]);
  atEnd(stopOf(nginx));
  const url = `http://127.0.0.1:${String(port)}`;
  await vi.waitFor(() => fetch(`${url}/data/health`), { timeout: 90_000 });
  return url;
}
