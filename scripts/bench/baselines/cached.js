/**
 * The practical limit of a hit: `node:http` alone, which sends what BENCH_RESPONSES has for the method and address, or 304. With
 * BENCH_EXPRESS behind one route of Express: the limit of an app in which an endpoint is mounted. `routewright serve` has no Express
 * before its endpoints.
 */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const responses = new Map(Object.entries(JSON.parse(readFileSync(process.env.BENCH_RESPONSES, "utf8"))));
for (const found of responses.values())
  found.unchanged = found.headers.filter(
    (_, i) => !/^content-(type|length)$/i.test(found.headers[i - (i % 2)]),
  );

function answer(request, response) {
  const found = responses.get(`${request.method} ${request.url}`);
  if (found === undefined) response.writeHead(404).end();
  else if (request.headers["if-none-match"] === found.tag) response.writeHead(304, found.unchanged).end();
  else response.writeHead(200, found.headers).end(found.body, "latin1");
}

async function behindExpress() {
  const { default: express } = await import("express");
  return express().disable("x-powered-by").get("/v1/bench/hot", answer);
}

const listener = process.env.BENCH_EXPRESS === undefined ? answer : await behindExpress();
createServer(listener).listen(Number(process.env.PORT), "127.0.0.1");
