#!/usr/bin/env node
import { existsSync } from "node:fs";

// A reader that has seen enough, such as `head`, closes the pipe: that is not an error.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error) => {
    if (error.code !== "EPIPE") throw error;
  });
}

const cli = new URL("../dist/cli.js", import.meta.url);
if (existsSync(cli)) {
  const { run } = await import(cli.href);
  process.exitCode = await run(process.argv.slice(2));
} else {
  console.error("error: Routewright is not built yet: run `npm ci && npm run build` first.");
  process.exitCode = 2;
}
