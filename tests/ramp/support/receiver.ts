import { createServer, type IncomingHttpHeaders } from "node:http";
import { Webhook } from "standardwebhooks";
import { listen } from "../../support/port.js";

export interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  /** Status of the next answers. */
  status: number;
  /** Events that verify with the secret, by the order in which they came. */
  verified(secret: string): {
    readonly id: string;
    readonly type: string;
    readonly sequence: number;
    readonly data: Record<string, unknown>;
  }[];
}

/** A webhook receiver of a test file's own. */
export async function ownReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString()));
    request.on("end", () => {
      received.push({ headers: request.headers, body });
      response.writeHead(receiver.status, { location: "http://127.0.0.1:1/" }).end();
    });
  });
  const receiver: Receiver = {
    url: `http://${await listen(server)}/hook`,
    received,
    status: 204,
    verified: (secret) =>
      received.map(({ headers, body }) => {
        const event = new Webhook(secret).verify(body, headers as Record<string, string>) as {
          type: string;
          sequence: number;
          data: Record<string, unknown>;
        };
        return { id: String(headers["webhook-id"]), ...event };
      }),
  };
  return receiver;
}
