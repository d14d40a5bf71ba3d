import { randomUUID } from "node:crypto";
import { connect, type Socket } from "node:net";
import { AnswerReader } from "../load/answer-reader.js";
import type { CreateJob, JobResult } from "./job.js";
import { keepUp } from "./pace.js";

/** An on-ramp that Sandbox South takes without an identity check: recorded, onboarded, approved, answered. */
const BODY = JSON.stringify({
  src: { currencyCode: "USD", details: { countryCode: "US", rail: "ACH", provider: "sandbox-south" } },
  dest: {
    currencyCode: "USDC_POLYGON",
    details: { address: "0x52908400098527886E0F7030069857D2E4169EE7" },
  },
  srcAmount: "100.00",
});

/** Creates intents over HTTP. Written on sockets: the load must cost less than the server under it. */
export async function createIntents(job: CreateJob): Promise<JobResult> {
  const heads = job.tokens.map(
    (token) =>
      `POST /v1/intent HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${String(BODY.length)}\r\nAuthorization: Bearer ${token}\r\nIdempotency-Key: `,
  );
  const sockets = await Promise.all(Array.from({ length: job.connections }, () => open(job.port)));
  let requests = 0;
  try {
    return await keepUp(job, async (connection) => {
      const head = heads[requests++ % heads.length] ?? "";
      const socket = sockets[connection];
      if (!socket) throw new Error("no such connection");
      const status = await ask(socket, `${head}${randomUUID()}\r\n\r\n${BODY}`);
      if (status !== 201) throw new Error(`status ${String(status)}`);
    });
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: "127.0.0.1", port, noDelay: true }, () => resolve(socket));
    socket.once("error", reject);
  });
}

function ask(socket: Socket, request: string): Promise<number> {
  const answers = new AnswerReader();
  return new Promise((resolve, reject) => {
    const end = (act: () => void): void => {
      socket.off("data", take).off("close", lost);
      act();
    };
    const lost = (): void => end(() => reject(new Error("the connection was closed")));
    const take = (bytes: Buffer): void => {
      const answer = answers.take(bytes);
      if (answer) end(() => resolve(answer.status));
    };
    socket.on("data", take).on("close", lost);
    socket.write(request, "latin1");
  });
}
