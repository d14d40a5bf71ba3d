import { get, type IncomingMessage } from "node:http";
import { atEnd } from "../../support/at-end.js";

export interface ReceivedEvent {
  readonly id: string;
  readonly type: string;
  readonly data: { readonly id: string; readonly data: Readonly<Record<string, unknown>> };
}

export interface EventClient {
  readonly status: number;
  readonly response: IncomingMessage;
  readonly events: ReceivedEvent[];
  /** What an `EventSource` sends when it comes back: also an `id` without data counts. */
  readonly lastId: () => string;
  /** Comments that keep the connection open. */
  readonly beats: () => number;
  readonly isEnded: () => boolean;
  close(): void;
}

/** Waits for events as an `EventSource` does. */
export function listenTo(
  base: string,
  {
    query = "",
    key,
    lastId,
  }: { readonly query?: string; readonly key?: string; readonly lastId?: string } = {},
): Promise<EventClient> {
  const headers = {
    ...(key !== undefined && { "x-api-key": key }),
    ...(lastId !== undefined && { "last-event-id": lastId }),
  };
  return new Promise((resolve, reject) => {
    const request = get(`${base}/v1/system/events${query}`, { headers, agent: false }, (response) => {
      const events: ReceivedEvent[] = [];
      let beats = 0;
      let isEnded = false;
      let rest = "";
      let newestId = lastId ?? "";
      response.setEncoding("utf8");
      response.on("data", (text: string) => {
        const blocks = (rest + text).split("\n\n");
        rest = blocks.pop() ?? "";
        for (const block of blocks) {
          if (block.startsWith(":")) beats++;
          newestId = /^id: (.*)$/m.exec(block)?.[1] ?? newestId;
          const event = eventIn(block);
          if (event !== null) events.push(event);
        }
      });
      response.on("close", () => (isEnded = true));
      response.on("error", () => undefined);
      const close = (): void => void request.destroy();
      atEnd(close);
      resolve({
        status: response.statusCode ?? 0,
        response,
        events,
        lastId: () => newestId,
        beats: () => beats,
        isEnded: () => isEnded,
        close,
      });
    });
    request.on("error", reject);
  });
}

function eventIn(block: string): ReceivedEvent | null {
  const fields = Object.fromEntries(
    block.split("\n").map((line) => {
      const mark = line.indexOf(": ");
      return [line.slice(0, mark), line.slice(mark + 2)];
    }),
  ) as Readonly<Record<string, string>>;
  const { id, event, data } = fields;
  if (id === undefined || event === undefined || data === undefined) return null;
  return { id, type: event, data: JSON.parse(data) as ReceivedEvent["data"] };
}
