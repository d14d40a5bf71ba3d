import { createServer } from "node:net";
import { expect, it } from "vitest";
import { atEnd } from "../../support/at-end.js";
import { start } from "../../support/command.js";
import { ownDatabase } from "../../support/database.js";
import { needs } from "../../support/needs.js";
import { listening } from "../support/server.js";
import { startRedis } from "../../support/redis.js";
import { ownFolder } from "../../support/service.js";
import { SECRETS_KEY } from "../support/world.js";

it.skipIf(!needs("redis-server"))("a start at a port that is taken ends, with Redis too", async () => {
  const taken = createServer();
  const { port } = new URL(await listening(taken));
  atEnd(() => void taken.close());
  const { url: REDIS_URL } = await startRedis();
  const { finished, until } = start(ownFolder(), ["serve", "--only", "ramp"], {
    RAMP_DATABASE_URL: await ownDatabase(),
    RAMP_SECRETS_KEY: SECRETS_KEY.toString("hex"),
    RAMP_PORT: port,
    REDIS_URL,
  });
  await until(/EADDRINUSE|in use/);
  expect((await finished).code).not.toBe(0);
});
