import { randomBytes, randomInt } from "node:crypto";
import { type OutgoingHttpHeaders, request } from "node:http";
import { KEYS } from "./load.js";

/** The endpoint that is flooded, and its columns. */
const PATH = "/v1/flood/orders";
export const COLUMNS = ["id", "day", "status", "label"] as const;

/** A request that differs from all others. */
interface FloodRequest {
  readonly method: string;
  readonly path: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: unknown;
}

const oneOf = <T>(values: readonly [T, ...T[]]): T => values[randomInt(values.length)] ?? values[0];
const text = (bytes: number): string => randomBytes(bytes / 2).toString("hex");
const list = (count: number, bytes: number): readonly string[] =>
  Array.from({ length: count }, () => text(bytes));

/** A query string of up to 15 kB: other values, columns, order and page in each. */
function query(): string {
  const fields = Array.from({ length: randomInt(1, 60) }, () => oneOf(COLUMNS)).join(",");
  const sort = `sort_by=${oneOf(COLUMNS)}&sort_direction=${oneOf(["asc", "desc"])}`;
  const rows = `from=2024-01-${String(randomInt(1, 29)).padStart(2, "0")}&limit=${String(randomInt(1, 900))}`;
  return `any=open,${list(randomInt(1, 16), 900).join(",")}&fields=${fields}&${sort}&${rows}`;
}

const tool = (name: string, given: object): FloodRequest => ({
  method: "POST",
  path: "/mcp",
  headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream" },
  body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: given } },
});

const filters = () => ({ any: ["open", ...list(randomInt(1, 900), 950)] });
const get = (headers: OutgoingHttpHeaders, method = "GET", suffix = "") => ({
  method,
  path: `${PATH}${suffix}?${query()}`,
  headers,
});

const KINDS: readonly [() => FloodRequest, ...(() => FloodRequest)[]] = [
  () => get({}, "HEAD"),
  () => get({}, "HEAD", oneOf([".csv", ".ndjson", ".parquet", ".arrow"])),
  () => get({ "Accept-Encoding": oneOf(["gzip", "br"]) }),
  () => get({ Accept: oneOf(["text/csv", "application/json;numbers=string"]) }),
  () => get({ "If-None-Match": `W/"${text(20)}"` }),
  () => get({ Range: `bytes=${String(randomInt(9))}-${String(randomInt(10, 9000))}` }),
  () => get({ Prefer: "count=exact" }),
  () => ({
    method: "POST",
    path: PATH,
    headers: { "Content-Type": "application/json" },
    body: { any: ["open", ...list(randomInt(1, 300), 950)] },
  }),
  () => ({
    method: "GET",
    path: `/v1/system/values?path=${PATH}&column=${oneOf(["status", "label"])}&any=open,${list(15, 900).join(",")}`,
  }),
  () => tool("list_values", { path: PATH, column: "label", prefix: text(2), parameters: filters() }),
  () => tool("query_endpoint", { path: PATH, parameters: filters() }),
  () => tool("summarize_endpoint", { path: PATH, parameters: filters() }),
  () => ({
    method: "GET",
    path: oneOf(["/openapi.json", "/llms.txt", "/v1/system/catalogue"]),
    headers: { "X-Forwarded-Prefix": `/${text(900)}`, "X-Forwarded-Host": `${text(40)}.example` },
  }),
  () => ({ method: "GET", path: `/v1/${text(900)}?${text(9000)}` }),
];

/** How many kinds of requests there are. */
export const FLOOD_KINDS = KINDS.length;

/** Sends a request of a kind, or of any, from an address of its own, or with a key; resolves with the status, 0 where there is none. */
export function sendFloodRequest(port: number, kind = randomInt(KINDS.length)): Promise<number> {
  const { method, path, headers = {}, body } = (KINDS[kind] ?? KINDS[0])();
  const bytes = body === undefined ? "" : JSON.stringify(body);
  const length = bytes === "" ? {} : { "Content-Length": Buffer.byteLength(bytes) };
  const key = randomInt(2) === 0 ? {} : { "X-API-Key": KEYS[randomInt(KEYS.length)] };
  const localAddress = `127.${[1, 254, 254].map((most) => String(randomInt(1, most + 1))).join(".")}`;
  const options = { host: "127.0.0.1", port, localAddress, agent: false } as const;
  return new Promise((resolve) => {
    const sent = request(
      { ...options, method, path, headers: { ...headers, ...length, ...key } },
      (reply) => {
        reply.resume();
        reply.once("close", () => resolve(reply.statusCode ?? 0));
      },
    );
    sent.once("error", () => resolve(0));
    sent.end(bytes);
  });
}
