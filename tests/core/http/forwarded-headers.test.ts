/** Forwarded headers that a caller makes up, through every proxy that a template or a page configures. */
import { spawn } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { startNginx, startVarnish } from "../response/edges.js";
import { publicRows } from "../response/public-rows.js";
import { atEnd } from "../../support/at-end.js";
import { sendRequest } from "../../support/http-client.js";
import { needs, type Program, programPath } from "../../support/needs.js";
import { HOSTILE, startIngress } from "../../support/ingress.js";
import { freePort } from "../../support/port.js";
import { stopOf } from "../../support/processes.js";
import { ownFolder } from "../../support/service.js";

const TEMPLATES = join(import.meta.dirname, "../../../templates");

interface Proxy {
  readonly programs: readonly Program[];
  readonly start: (upstream: string) => Promise<{ readonly url: string }>;
  /** What the template sets of the service. */
  readonly variables?: Readonly<Record<string, string>>;
}

const PATHS = ["/", "/openapi.json", "/llms.txt", "/docs", "/explore", "/guide", "/v1/system/catalogue"];
const ROWS = "/v1/shop/rates?limit=1";

/** nginx with the template's own configuration. */
async function startTemplate(upstream: string): Promise<{ readonly url: string }> {
  const folder = ownFolder();
  chmodSync(folder, 0o777);
  const port = await freePort();
  const configuration = readFileSync(join(TEMPLATES, "docker/nginx.conf"), "utf8")
    .replace("server api-1:8000; server api-2:8000;", `server ${new URL(upstream).host};`)
    .replace("listen 8000", `listen 127.0.0.1:${String(port)}`);
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${folder};`,
  );
  writeFileSync(
    join(folder, "nginx.conf"),
    `daemon off; pid ${folder}/pid; error_log ${folder}/error.log; events {} http { access_log off; ${paths.join(" ")} ${configuration} }`,
  );
  const nginx = spawn(programPath("nginx"), ["-p", folder, "-c", "nginx.conf", "-e", `${folder}/error.log`]);
  atEnd(stopOf(nginx));
  const url = `http://127.0.0.1:${String(port)}`;
  await vi.waitFor(() => fetch(`${url}/health`), { timeout: 90_000 });
  return { url };
}

/** What a template sets: without it addresses begin with the prefix that callers send. */
function publicUrlIn(file: string): string {
  const [, url = ""] = /PUBLIC_URL, value: (\S+) /.exec(readFileSync(join(TEMPLATES, file), "utf8")) ?? [];
  return url;
}

/** By the files in which a proxy is configured, or a service that is behind one. */
const PROXIES: Readonly<Record<string, Proxy>> = {
  "docker/nginx.conf": { programs: ["nginx"], start: startTemplate },
  "docker/compose.yml": { programs: ["nginx"], start: startTemplate },
  "docker/kubernetes/data-api.yml": {
    programs: [],
    start: startIngress,
    variables: { PUBLIC_URL: publicUrlIn("docker/kubernetes/data-api.yml") },
  },
  "shared-caches.md, nginx": { programs: ["nginx", "ngx_http_cache_purge_module.so"], start: startNginx },
  "shared-caches.md, Varnish": { programs: ["varnishd"], start: startVarnish },
};

it("every template that has a proxy, or trusts one, is among those that are tried", () => {
  const files = readdirSync(TEMPLATES, { recursive: true, encoding: "utf8" }).filter((file) => {
    const text = /\.(ya?ml|conf|vcl|toml)$|Caddyfile/.test(file)
      ? readFileSync(join(TEMPLATES, file), "utf8")
      : "";
    return /TRUST_PROXY|proxy_pass|reverse_proxy|X-Forwarded/i.test(text);
  });
  // The ramp's own are in tests/ramp/api/forwarded-headers.test.ts.
  const own = files.filter((file) => !file.startsWith("docker/ramp/"));
  expect(own.sort()).toEqual(
    Object.keys(PROXIES)
      .filter((name) => name.startsWith("docker/"))
      .sort(),
  );
});

const { serve } = await publicRows();

const PUBLIC_URL = "https://example.com/data";

/** What the document names as its servers, by the headers of each caller; the last one sends none. */
async function serversOf(url: string): Promise<readonly unknown[]> {
  const found = new Set<string>();
  for (const headers of [...HOSTILE, { host: "127.0.0.1:1" }, { host: "localhost" }, {}]) {
    const { text } = await sendRequest(url, "/openapi.json", { headers });
    found.add(JSON.stringify((JSON.parse(text) as { servers: unknown }).servers));
  }
  return [...found].map((servers) => JSON.parse(servers) as unknown);
}

// A proxy beside the server that sends no header of its own looks like a client of this machine.
it("the server of the OpenAPI document is PUBLIC_URL, else relative, also for clients of this machine", async () => {
  expect(await serversOf((await serve(undefined, { PUBLIC_URL })).url)).toEqual([[{ url: PUBLIC_URL }]]);
  expect(await serversOf((await serve()).url)).toEqual([[{ url: "/" }]]);
});

describe.each(Object.entries(PROXIES))("behind the proxy of %s", (_, { programs, start, variables }) => {
  it.skipIf(!needs(...programs))("a caller's forwarded headers change nothing that it is sent", async () => {
    const service = await serve(undefined, { ...variables, TRUST_PROXY: "1", RATE_LIMITS: "tier0=1000" });
    const { url } = await start(service.url);
    const read = async (path: string, headers: Readonly<Record<string, string>>): Promise<unknown> => {
      const reply = await sendRequest(url, path, { headers });
      const { location, link, "set-cookie": cookie } = reply.headers;
      return { status: reply.status, text: reply.text, location, link, cookie };
    };
    for (const path of PATHS) {
      const plain = await read(path, {});
      expect([path, plain]).toMatchObject([path, { status: 200 }]);
      for (const headers of HOSTILE)
        expect([path, headers, await read(path, headers)]).toEqual([path, headers, plain]);
    }
    for (const headers of HOSTILE) {
      expect([headers, (await sendRequest(url, "/metrics", { headers })).status]).toEqual([
        headers,
        expect.toBeOneOf([403, 404]),
      ]);
      const { text } = await sendRequest(url, "/health", { headers });
      expect(text).not.toContain("rates");
    }
  });

  it.skipIf(!needs(...programs))(
    "the server address in the OpenAPI document is PUBLIC_URL, else relative, also after a request with false headers",
    async () => {
      const behind = { TRUST_PROXY: "1", RATE_LIMITS: "tier0=1000" };
      const named = await start((await serve(undefined, { ...behind, PUBLIC_URL })).url);
      expect(await serversOf(named.url)).toEqual([[{ url: PUBLIC_URL }]]);
      const unnamed = await start((await serve(undefined, behind)).url);
      expect(await serversOf(unnamed.url)).toEqual([[{ url: "." }]]);
    },
  );

  it.skipIf(!needs(...programs))("a caller that makes up its address has one window", async () => {
    const service = await serve(undefined, { TRUST_PROXY: "1", RATE_LIMITS: "tier0=5" });
    const { url } = await start(service.url);
    const statuses: number[] = [];
    for (let i = 0; i < 12; i++) {
      const made = `198.51.100.${String(i)}`;
      const headers = { "x-forwarded-for": made, forwarded: `for=${made}`, "x-real-ip": made };
      // Another query each time, of which no cache has a copy.
      const path = `/v1/shop/rates?limit=1&label=${String(i)}`;
      statuses.push((await sendRequest(url, path, { headers })).status);
    }
    expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(5);
    expect(statuses.at(-1)).toBe(429);
  });

  it.skipIf(!needs(...programs))("rows have links to the caller's own path at most", async () => {
    const service = await serve(undefined, { ...variables, TRUST_PROXY: "1" });
    const { url } = await start(service.url);
    for (const headers of HOSTILE) {
      const { headers: found, text } = await sendRequest(url, ROWS, { headers });
      expect(`${JSON.stringify(found)}${text}`).not.toMatch(/evil\.example|"evil/);
      const plain = await sendRequest(url, ROWS, {});
      expect(JSON.stringify(plain.headers)).not.toContain("evil");
    }
  });
});
