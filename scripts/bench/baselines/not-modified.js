/** The least that telling a client "you have it" can cost: a server that knows nothing else. */
import { createServer } from "node:http";

createServer((_request, response) => {
  response.writeHead(304, ["ETag", 'W/"bare"']).end();
}).listen(Number(process.env.PORT), "127.0.0.1");
