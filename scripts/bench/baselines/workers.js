/** Two workers that answer, by one of Node's ways to share a port: `shared`, `robin` or `reuse`. */
import cluster from "node:cluster";
import { createServer } from "node:http";

const way = process.argv[2];
cluster.schedulingPolicy = way === "robin" ? cluster.SCHED_RR : cluster.SCHED_NONE;

if (cluster.isPrimary) for (let i = 0; i < 2; i++) cluster.fork();
else {
  const server = createServer((_, response) => response.end("{}"));
  const options = { host: "127.0.0.1", port: Number(process.env["PORT"]) };
  server.listen(way === "reuse" ? { ...options, reusePort: true } : options);
}
