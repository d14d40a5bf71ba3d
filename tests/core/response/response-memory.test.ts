import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { atEnd } from "../../support/at-end.js";
import { holdTime } from "../../support/clock.js";
import { ownSchema } from "../../support/database.js";
import { manifestOf } from "../../support/manifest.js";
import { needs, programPath } from "../../support/needs.js";
import { KEYS, serveManifest } from "../../support/service.js";
import { sendRequest } from "../../support/http-client.js";

const CLIENTS = 16;
const MEGABYTES = 16;
const POOL_SIZE = 4;
/** Bytes of each answer: just below the 2 MiB of a whole one. */
const ROWS = 950;
const ANSWER_BYTES = ROWS * 2000;

const schema = await ownSchema(`
  CREATE TABLE @.large AS SELECT i AS id, repeat('x', 2000) AS label FROM generate_series(1, 1000) i`);
const pagination = { enabled: true, default_limit: ROWS, max_limit: 1000, response: "list" };
const url = await serveManifest(
  manifestOf([
    {
      name: "large",
      schema,
      columns: { id: "integer", label: "text" },
      api: { allow_unfiltered: true, sort: [{ column: "id", direction: "ASC" }], pagination },
    },
  ]),
  { ANSWER_MEMORY_MEGABYTES: String(MEGABYTES), DATABASE_POOL_SIZE: String(POOL_SIZE) },
);

/**
 * Sends all requests and reads nothing but whether each answer has begun, until a line arrives: then it reads them all.
 * Its buffers and segments are small, else the kernel of the machine takes 3 MB per connection from the server.
 */
const READER = `
import select, socket, sys
port, clients = int(sys.argv[1]), int(sys.argv[2])
sockets = []
for i in range(clients):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1460)
    s.connect(("127.0.0.1", port))
    s.sendall(f"GET /v1/shop/large?limit=${String(ROWS)}&offset={i} HTTP/1.1\\r\\nHost: x\\r\\nX-API-Key: ${KEYS.tier3}\\r\\nConnection: close\\r\\n\\r\\n".encode())
    sockets.append(s)
while not select.select([sys.stdin], [], [], 0.05)[0]:
    print(len(select.select(sockets, [], [], 0)[0]), flush=True)
received = {s: [] for s in sockets}
left = list(sockets)
while left:
    for s in select.select(left, [], [])[0]:
        piece = s.recv(65536)
        received[s].append(piece)
        if not piece: left.remove(s)
for s in sockets:
    head, _, body = b"".join(received[s]).partition(b"\\r\\n\\r\\n")
    print("answer", head.split()[1].decode(), body.count(b'"label"'), flush=True)
`;

describe.skipIf(!needs("python3"))("answers that nobody reads", () => {
  it("take half of ANSWER_MEMORY_MEGABYTES and one answer per connection; others are served, theirs follow", async () => {
    // Answers wait for ten seconds at most until others are read.
    holdTime();
    const port = new URL(url).port;
    const child = spawn(programPath("python3"), ["-c", READER, port, String(CLIENTS)], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    atEnd(() => void child.kill("SIGKILL"));
    let begun = 0;
    const answers: string[] = [];
    createInterface(child.stdout).on("line", (line) => {
      if (line.startsWith("answer")) answers.push(line);
      else begun = Number(line);
    });
    const ended = new Promise((resolve) => void child.once("close", resolve));
    const full = Math.ceil((MEGABYTES * 1024 * 1024) / 2 / ANSWER_BYTES);
    await expect.poll(() => begun, { timeout: 90_000 }).toBeGreaterThanOrEqual(full);
    // Without a bound all of them begin within this time.
    await sleep(1000);
    // Besides those that fill the share: what the pool's connections had read by then, and what each read next.
    expect(begun).toBeLessThanOrEqual(full + 2 * POOL_SIZE);
    for (const [i, key] of [KEYS.tier2, KEYS.tier1, KEYS.tier0].entries()) {
      const path = `/v1/shop/large?limit=1&offset=${String(100 + i)}`;
      expect(await sendRequest(url, path, { key })).toMatchObject({ status: 200 });
    }
    child.stdin.end("read\n");
    await ended;
    expect(answers).toEqual(Array(CLIENTS).fill(`answer 200 ${String(ROWS)}`));
  });
});
