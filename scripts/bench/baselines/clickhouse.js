/**
 * The practical limit in front of ClickHouse: `node:http` passes its bytes on, in one piece with a length, or with BENCH_PIPED as they
 * come. No keys, limits, checks or log. BENCH_CLICKHOUSE is the path of a statement with its settings; the page is appended.
 */
import { Agent, createServer, request as send } from "node:http";

const { BENCH_CLICKHOUSE: path, BENCH_CLICKHOUSE_PORT, BENCH_PIPED, PORT } = process.env;
const agent = new Agent({ keepAlive: true });
const HEADERS = { "X-ClickHouse-User": "api", "X-ClickHouse-Key": "secret", "Content-Length": 0 };

createServer((request, response) => {
  const page = new URLSearchParams(request.url.split("?")[1]).get("page");
  const [port, method] = [BENCH_CLICKHOUSE_PORT, "POST"];
  if (page === null) return response.writeHead(404).end();
  const query = send({ agent, port, method, host: "127.0.0.1", headers: HEADERS, path: `${path}${page}` });
  query.on("error", () => response.destroy()).end();
  query.on("response", (rows) => {
    if (rows.statusCode !== 200) return rows.resume() && response.writeHead(500).end();
    if (BENCH_PIPED !== undefined) {
      response.writeHead(200, { "Content-Type": "application/json" });
      return rows.pipe(response);
    }
    const parts = [];
    rows
      .on("data", (part) => parts.push(part))
      .on("end", () => {
        const body = Buffer.concat(parts);
        response
          .writeHead(200, { "Content-Type": "application/json", "Content-Length": body.length })
          .end(body);
      });
  });
}).listen(Number(PORT), "127.0.0.1");
