import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { readBody } from "@routewright/runtime/internal/core/http/body.js";
import { listen } from "@routewright/runtime/internal/core/http/listen.js";
import { check, parseJson } from "../core/json-schema.js";
import { Callback } from "./protocol.js";
import { isSignedCallback } from "./signature.js";
import type { CheckList } from "./test-checks.js";

/** Listens for callbacks during `ramp provider test`, on this machine only: a provider elsewhere does not reach it. */
export class TestCallbacks {
  #arrived = 0;
  #unsigned = 0;
  #invalid = 0;
  readonly url: string;
  readonly stop: () => Promise<void>;

  private constructor(url: string, stop: () => Promise<void>) {
    this.url = url;
    this.stop = stop;
  }

  static async start(secret: string): Promise<TestCallbacks> {
    const path = `/callbacks/${randomUUID()}`;
    const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const isCallback = request.method === "POST" && request.url === path;
      const body = await readBody(request, { id: "callback", share: 1 });
      if (isCallback && body.kind === "text") callbacks.#note(secret, request, body.text);
      response.writeHead(isCallback ? 200 : 404, { "content-type": "application/json" });
      response.end(JSON.stringify({ received: isCallback }));
    };
    const server = await listen((request, response) => void receive(request, response), "127.0.0.1", 0);
    const callbacks = new TestCallbacks(server.url + path, () => server.stop());
    return callbacks;
  }

  #note(secret: string, { headers }: IncomingMessage, text: string): void {
    const header = (name: string): string => String(headers[name] ?? "");
    const signature = {
      "webhook-id": header("webhook-id"),
      "webhook-timestamp": header("webhook-timestamp"),
      "webhook-signature": header("webhook-signature"),
    };
    this.#arrived++;
    if (!isSignedCallback(secret, signature, text)) this.#unsigned++;
    else if (!check(Callback, parseJson(text))) this.#invalid++;
  }

  /** None is no failure: callbacks are optional. */
  checkAll(checks: CheckList): void {
    if (this.#arrived === 0) return checks.check("callbacks: none arrived here, none checked", false);
    const of = `of ${String(this.#arrived)} callbacks`;
    checks.check("callbacks are signed", this.#unsigned > 0 && `${String(this.#unsigned)} ${of} are not`);
    checks.check(
      "callbacks are messages of the protocol",
      this.#invalid > 0 && `${String(this.#invalid)} ${of} are not`,
    );
  }
}
