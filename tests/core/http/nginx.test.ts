import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { needs, programPath } from "../../support/needs.js";
import { freePort } from "../../support/port.js";
import { stopOf } from "../../support/processes.js";
import { KEYS, ownFolder, serveManifest } from "../../support/service.js";

/** Rows until the database fails: enough that many have been sent by then. 44 bytes each. */
const ROWS = Number(process.env["CUT_STREAM_ROWS"] ?? 50_000);
/** Times 20 cut streams; a longer run: `CUT_STREAM_ROWS=500000 CUT_STREAM_ROUNDS=3`. */
const ROUNDS = Number(process.env["CUT_STREAM_ROUNDS"] ?? 1);

const schema = await ownSchema(`
  CREATE TABLE @.rows AS SELECT i AS id, md5(i::text) AS label FROM generate_series(1, ${String(ROWS)}) i;
  CREATE VIEW @.failing AS SELECT id, label, 1 / (id - ${String(ROWS)}) AS v FROM @.rows`);
const model = (name: string) => ({ name, schema, tags: ["production", "big", `api:${name}`] });
const manifest = manifestOf([model("rows"), model("failing")]);
const upstream = await serveManifest(manifest);
const folder = ownFolder();

/** nginx in front of a service, with nothing configured but its address: it speaks HTTP/1.0 to the service. */
async function startNginx(upstream: string, folder = ownFolder()) {
  chmodSync(folder, 0o777);
  const port = await freePort();
  const paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (name) => `${name}_temp_path ${folder};`,
  );
  writeFileSync(
    join(folder, "nginx.conf"),
    `daemon off; pid ${folder}/pid; error_log ${folder}/error.log; events {} http { access_log off; ${paths.join(" ")}
     proxy_cache_path ${folder}/cache keys_zone=answers:1m;
     server { listen 127.0.0.1:${String(port)}; location / { proxy_pass ${upstream}; }
       location /cached/ { proxy_pass ${upstream}/; proxy_cache answers; proxy_cache_valid 200 1m; proxy_ignore_headers Cache-Control Vary; } } }`,
  );
  const nginx = spawn(programPath("nginx"), [
    "-p",
    folder,
    "-c",
    "nginx.conf",
    "-e",
    join(folder, "error.log"),
  ]);
  // SIGQUIT would wait for its connections.
  const stop = stopOf(nginx);
  const url = `http://127.0.0.1:${String(port)}`;
  await vi.waitFor(() => fetch(`${url}/health`), { timeout: 90_000 });
  return { url, stop };
}

/** Whether a client takes the body for complete. */
function isComplete(url: string, headers: Record<string, string>): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get(
      url,
      { headers: { "X-API-Key": KEYS.tier3, ...headers }, agent: false },
      (response) => {
        response.resume();
        response.on("error", () => resolve(false));
        response.on("close", () => resolve(response.complete && response.statusCode === 200));
      },
    );
    request.on("error", () => resolve(false));
  });
}

const FORMATS = ["application/json", "application/x-ndjson", "text/csv"];
const ENCODINGS = ["identity", "gzip", "br"];
const CASES = FORMATS.flatMap((format) => ENCODINGS.map((encoding) => [format, encoding] as const));

describe.skipIf(!needs("nginx"))("a stream through nginx in its default configuration", () => {
  let url = "";
  beforeAll(async () => {
    const nginx = await startNginx(upstream, folder);
    url = nginx.url;
    return nginx.stop;
  });

  it.each(CASES)("is complete as %s, %s", async (accept, encoding) => {
    const isWhole = await isComplete(`${url}/v1/big/rows`, { accept, "accept-encoding": encoding });
    expect(isWhole).toBe(true);
  });

  it.each(CASES)("that is cut does not look complete as %s, %s", async (accept, encoding) => {
    const isWhole = await isComplete(`${url}/v1/big/failing`, { accept, "accept-encoding": encoding });
    expect(isWhole).toBe(false);
  });
});

/**
 * The status that curl gets, and whether it takes the body for whole. Node's own client does not tell a reset from an end in
 * every case.
 */
async function outcomeFor(url: string, flags: readonly string[]): Promise<string> {
  const key = `X-API-Key: ${KEYS.tier3}`;
  const options = ["--silent", "--output", "/dev/null", "--write-out", "%{http_code}", "--header", key];
  const child = spawn("curl", [...options, ...flags, url]);
  let status = "";
  child.stdout.on("data", (chunk: Buffer) => (status += chunk.toString()));
  const [code] = (await once(child, "close")) as [number];
  return `${status} ${code === 0 ? "whole" : "cut"}`;
}

describe.skipIf(!needs("nginx"))("a stream that the database cuts", () => {
  it("never looks complete, at any speed of its reader, directly or through nginx, cached or not", async () => {
    // All at once: a stream waits for ten seconds at most for the place of another.
    const direct = await serveManifest(manifest, {
      DATABASE_STREAM_POOL_SIZE: "20",
      STREAMS_PER_CALLER: "20",
    });
    const { url: proxied, stop } = await startNginx(direct);
    onTestFinished(stop);
    const targets = [
      [direct, "--http1.0"],
      [direct, "--http1.1"],
      [proxied, "--http1.1"],
      [`${proxied}/cached`, "--http1.1"],
      [`${proxied}/cached`, "--http1.1"],
    ] as const;
    const runs = targets.flatMap(([url, version]) =>
      ["1M", "3M", "10M", "50M"].map((rate) => [`${url}/v1/big/failing.csv`, version, rate] as const),
    );
    for (let round = 0; round < ROUNDS; round++) {
      const outcomes = await Promise.all(
        runs.map(async ([url, version, rate]) => {
          const outcome = await outcomeFor(url, [version, "--limit-rate", rate]);
          return outcome === "200 cut" ? [] : [`${outcome} ${version} ${rate} ${url}`];
        }),
      );
      expect(outcomes.flat()).toEqual([]);
    }
    expect(await outcomeFor(`${proxied}/cached/v1/big/rows.csv`, [])).toBe("200 whole");
  });
});

/** Reads to the end. Not in Node: where data and a reset arrive together, libuv reports an orderly end. */
const READ = `import socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
s.sendall(sys.argv[3].encode())
try:
    while s.recv(65536): pass
    print("end")
except ConnectionResetError:
    print("reset")`;

it.skipIf(!needs("python3"))("an aborted stream resets the connection of an HTTP/1.0 client", async () => {
  const { hostname, port } = new URL(await serveManifest(manifest));
  const head = `GET /v1/big/failing HTTP/1.0\r\nHost: any\r\nX-API-Key: ${KEYS.tier3}\r\n\r\n`;
  for (let i = 0; i < 5; i++) {
    const { stdout } = await promisify(execFile)("python3", ["-c", READ, hostname, port, head]);
    expect(stdout).toBe("reset\n");
  }
});
