/** The practical limit of a hit: `node:http` alone, which sends what BENCH_RESPONSES has for the method and address, or 304. */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const responses = new Map(Object.entries(JSON.parse(readFileSync(process.env.BENCH_RESPONSES, "utf8"))));
for (const found of responses.values())
  found.unchanged = found.headers.filter(
    (_, i) => !/^content-(type|length)$/i.test(found.headers[i - (i % 2)]),
  );

createServer((request, response) => {
  const found = responses.get(`${request.method} ${request.url}`);
  if (found === undefined) response.writeHead(404).end();
  else if (request.headers["if-none-match"] === found.tag) response.writeHead(304, found.unchanged).end();
  else response.writeHead(200, found.headers).end(found.body, "latin1");
}).listen(Number(process.env.PORT), "127.0.0.1");
