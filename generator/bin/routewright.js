#!/usr/bin/env node
import { existsSync } from "node:fs";
import { setFlagsFromString } from "node:v8";

// V8 doubles the young generation of the heap while much of it survives, as nearly all does that a start loads: a server at rest would
// hold 10 MB for it. Half a minute later it has started, and the young generation grows with requests as ever.
if (process.argv[2] === "serve") {
  setFlagsFromString("--semi-space-growth-factor=1");
  setTimeout(() => setFlagsFromString("--semi-space-growth-factor=2"), 30_000).unref();
}

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
