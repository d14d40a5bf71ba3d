/** Real shared caches, with the configurations of the page. */
import { spawn } from "node:child_process";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { vi } from "vitest";
import type { SharedCache } from "../../../generator/commands/shared-cache.js";
import { atEnd } from "../../support/at-end.js";
import { programPath } from "../../support/needs.js";
import { freePort } from "../../support/port.js";
import { stopOf } from "../../support/processes.js";
import { ownFolder } from "../../support/service.js";

const PAGE = readFileSync(join(import.meta.dirname, "../../../runtime/docs/how-to/shared-caches.md"), "utf8");

export interface Edge {
  readonly url: string;
  readonly cache: SharedCache;
}

/** The code of a language on the page. */
const codeOf = (language: string): string =>
  new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(PAGE)?.[1]?.replace("<PURGE_TOKEN>", TOKEN) ?? "";

const TOKEN = "0d7a1f3b9c5e";

/** `change`: of the page's configuration. */
export type StartEdge = (upstream: string, change?: (configuration: string) => string) => Promise<Edge>;

export const startNginx: StartEdge = async (upstream, change = (text) => text) => {
  const folder = ownFolder();
  chmodSync(folder, 0o777);
  const port = await freePort();
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${folder};`,
  );
  const http = change(codeOf("nginx"))
    .replace("/var/cache/nginx/rows", `${folder}/rows`)
    .replace("listen 8080", `listen 127.0.0.1:${String(port)}`)
    .replace("http://127.0.0.1:8000", upstream);
  const module = programPath("ngx_http_cache_purge_module.so");
  writeFileSync(
    join(folder, "nginx.conf"),
    `load_module ${module}; daemon off; pid ${folder}/pid; error_log ${folder}/error.log; events {} http { access_log off; ${paths.join(" ")} ${http} }`,
  );
  const nginx = spawn(programPath("nginx"), ["-p", folder, "-c", "nginx.conf", "-e", `${folder}/error.log`]);
  atEnd(stopOf(nginx));
  const url = `http://127.0.0.1:${String(port)}`;
  await vi.waitFor(() => fetch(`${url}/health`), { timeout: 90_000 });
  return { url, cache: { purgeUrl: `${url}/purge`, purgeMethod: "PURGE", token: TOKEN } };
};

export const startVarnish: StartEdge = async (upstream, change = (text) => text) => {
  const folder = ownFolder();
  chmodSync(folder, 0o777);
  const [port, { port: backend }] = [await freePort(), new URL(upstream)];
  writeFileSync(
    join(folder, "edge.vcl"),
    change(codeOf("vcl")).replace('.port = "8000"', `.port = "${backend}"`),
  );
  const listen = `127.0.0.1:${String(port)}`;
  const varnish = spawn(programPath("varnishd"), [
    ...["-F", "-n", join(folder, "work"), "-a", listen, "-f", join(folder, "edge.vcl")],
    ...["-s", "malloc,32m", "-T", "none", "-j", "none"],
  ]);
  atEnd(stopOf(varnish));
  const url = `http://${listen}`;
  await vi.waitFor(() => fetch(`${url}/health`), { timeout: 90_000, interval: 200 });
  return { url, cache: { purgeUrl: `${url}/`, purgeMethod: "BAN", token: TOKEN } };
};
