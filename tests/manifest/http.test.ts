import { createServer, type RequestListener } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Socket } from "node:net";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { readModels } from "../../generator/manifest/catalog.js";
import { readManifest } from "../../generator/manifest/manifest.js";
import { readSource } from "../../generator/artifacts/source.js";
import { manifestOf } from "../support/manifest.js";
import { freePort, listen } from "../support/port.js";
import { ownFolder } from "../support/service.js";
import { selfSigned } from "./self-signed.js";

const MANIFEST = JSON.stringify(manifestOf([{ name: "a", tags: ["production", "api:a"] }]));

/** Connections on which `/idle` has answered. */
const USED = new WeakSet<Socket>();

/** What the server answers by path. */
const ANSWERS: Readonly<Record<string, RequestListener>> = {
  "/manifest.json": (_, response) => response.end(MANIFEST),
  "/gzip": (_, response) => response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(MANIFEST)),
  "/not-gzip": (_, response) => response.writeHead(200, { "content-encoding": "gzip" }).end(MANIFEST),
  "/mark": (_, response) => response.end(`\ufeff${MANIFEST}`),
  "/moved": (_, response) => response.writeHead(302, { location: "/manifest.json" }).end(),
  "/loop": (_, response) => response.writeHead(302, { location: "/loop" }).end(),
  "/to-file": (_, response) => response.writeHead(302, { location: "file:///etc/passwd" }).end(),
  "/broken": (_, response) => response.writeHead(500).end("x".repeat(100_000)),
  "/login": (_, response) =>
    response.writeHead(200, { "content-type": "text/html" }).end("<html>Sign in</html>"),
  "/empty": (_, response) => response.end(),
  "/cut": (_, response) => response.end(MANIFEST.slice(0, 100)),
  "/dropped": (_, response) => {
    response.writeHead(200, { "content-length": MANIFEST.length });
    response.write(MANIFEST.slice(0, 100), () => response.destroy());
  },
  "/dropped-chunk": (_, response) => {
    response.write(MANIFEST.slice(0, 100), () => response.destroy());
  },
  "/idle": (request, response) => {
    // As a server that closes an idle connection while the next request is on its way.
    if (USED.has(request.socket)) return void request.socket.destroy();
    USED.add(request.socket);
    response.end(MANIFEST);
  },
  "/silent": () => undefined,
  "/slow": (_, response) => response.writeHead(200).write(MANIFEST.slice(0, 100)),
  "/endless": (_, response) => {
    const more = (): void => {
      if (response.write("x".repeat(65_536))) setImmediate(more);
      else response.once("drain", more);
    };
    more();
  },
  "/private": (request, response) => {
    const [, login = ""] = (request.headers.authorization ?? "").split("Basic ");
    const isKnown = ["me:p@ss/wörd", "me:50%"].includes(Buffer.from(login, "base64").toString());
    response.writeHead(isKnown ? 200 : 401).end(isKnown ? MANIFEST : "");
  },
};

const server = createServer((request, response) => {
  const answer = ANSWERS[(request.url ?? "").replace(/\?.*/, "")];
  if (answer) answer(request, response);
  else response.writeHead(404).end("Not Found");
});
const tls = createTlsServer(selfSigned(), (_, response) => response.end(MANIFEST));
const origin = await listen(server);
const secure = (await listen(tls)).replace("127.0.0.1", "localhost");

/** What is said instead of the manifest, with the server's address as `<host>`. */
async function problemOf(address: string, limits = {}): Promise<string> {
  const source = await readSource(address, limits);
  const reading = source.ok ? await readManifest(address) : source;
  return reading.ok
    ? ""
    : reading.problems.join(" ").replaceAll(origin, "<host>").replaceAll(secure, "<host>");
}

describe("a manifest at an address", () => {
  it.each(["/manifest.json", "/gzip", "/moved", "/mark", "/manifest.json?signature=abc"])(
    "is read from %s",
    async (path) => {
      const reading = await readManifest(`http://${origin}${path}`);
      expect(reading).toMatchObject({ ok: true, value: { models: [{ name: "a" }] } });
    },
  );

  it("is read with the user and the password that its address holds, whatever characters they have", async () => {
    for (const login of ["me:p%40ss%2Fw%C3%B6rd", "me:50%"]) {
      expect(await readManifest(`http://${login}@${origin}/private`)).toMatchObject({ ok: true });
    }
    expect(await problemOf(`http://me:wrong@${origin}/private`)).toMatch(/answered 401/);
  });

  it.each<[string, string]>([
    ["/missing", "http://<host>/missing answered 404; expected 200 with the file."],
    ["/broken", "http://<host>/broken answered 500; expected 200 with the file."],
    ["/loop", "Cannot fetch http://<host>/loop: fetch failed (redirect count exceeded)."],
    ["/to-file", "Cannot fetch http://<host>/to-file: fetch failed (URL scheme must be a HTTP(S) scheme)."],
    ["/dropped", "Cannot fetch http://<host>/dropped: the connection ended before the file was complete."],
    ["/not-gzip", "Cannot fetch http://<host>/not-gzip: terminated (incorrect header check)."],
    [
      "/login",
      "http://<host>/login is not JSON: it looks like an HTML page; give the address of the file itself.",
    ],
    ["/empty", "http://<host>/empty is not JSON: it is empty."],
  ])("is refused in one line from %s", async (path, problem) => {
    expect(await problemOf(`http://${origin}${path}`)).toBe(problem);
  });

  it("is read again although the server closes the connection of the read before", async () => {
    for (let i = 0; i < 3; i++)
      expect(await readSource(`http://${origin}/idle`)).toMatchObject({
        ok: true,
        value: { text: MANIFEST },
      });
  });

  it.each(["/cut", "/dropped-chunk"])("is refused where it is cut off, from %s", async (path) => {
    const problem = await problemOf(`http://${origin}${path}`);
    // Node 20 takes a body without its last chunk for complete.
    expect(problem).toMatch(
      /^(http:\/\/<host>\/[a-z-]+ is not JSON: [^\n]+|Cannot fetch [^\n]+ ended before the file was complete\.)$/,
    );
  });

  it.each(["/silent", "/slow"])("is given up at the time limit, from %s", async (path) => {
    expect(await problemOf(`http://${origin}${path}`, { timeoutMs: 200 })).toBe(
      `Cannot fetch http://<host>${path}: no complete response within 0.2 s.`,
    );
  });

  it("is given up at the size limit, though it never ends", async () => {
    expect(await problemOf(`http://${origin}/endless`, { maxBytes: 1024 * 1024 })).toBe(
      "http://<host>/endless is too large: at most 1 MB are read.",
    );
  });

  it("is an error where no server listens, or the host is unknown", async () => {
    const address = `127.0.0.1:${String(await freePort())}`;
    expect(await problemOf(`http://${address}/m.json`)).toBe(
      `Cannot fetch http://${address}/m.json: nothing listens there.`,
    );
  });

  it("is refused from a server with an untrusted certificate, with what to do", async () => {
    expect(await problemOf(`https://${secure}/manifest.json`)).toBe(
      "Cannot fetch https://<host>/manifest.json: its certificate is not trusted (self-signed certificate). " +
        "Name your own authority's in NODE_EXTRA_CA_CERTS.",
    );
  });

  it.each(["http://", "https://:99999/", "http:x y", "http://us er:secret@[bad/m.json"])(
    "is refused where %j is no address",
    async (address) => {
      expect(await problemOf(address)).toMatch(/^(Not a valid address: |Cannot fetch )/);
    },
  );
});

describe("a password, or a signed address", () => {
  const paths = [
    "/manifest.json",
    "/missing",
    "/broken",
    "/loop",
    "/dropped",
    "/login",
    "/cut",
    "/empty",
    "/to-file",
  ];

  const file = join(ownFolder(), "manifest.json");
  writeFileSync(file, MANIFEST);

  it.each(paths)("is never shown for %s", async (path) => {
    const address = `http://me:hidden@${origin}${path}?signature=hidden`;
    for (const reading of [
      await readManifest(address),
      await readModels({ manifest: file, catalog: address }),
    ]) {
      expect(JSON.stringify(reading)).not.toContain("hidden");
    }
  });

  it.each([
    "http://me:hidden@:1/",
    "http://me:hid@den@[bad]/",
    "https://me:hidden@host:999999/m.json",
    "http://[bad]/m.json?signature=hid@den",
    "http://me:hid?den@[bad]/m.json",
  ])("is never shown for the address %s, which is none", async (address) => {
    const reading = await readManifest(address);
    expect(reading.ok).toBe(false);
    expect(JSON.stringify(reading)).not.toMatch(/hid|den/);
  });
});
