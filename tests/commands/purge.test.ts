import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { atEnd } from "../support/at-end.js";
import { run } from "../support/command.js";
import { manifestOf } from "../support/manifest.js";
import { freePort } from "../support/port.js";
import { ownInstallation } from "../support/service.js";

const columns = { n: "bigint" };
const manifest = manifestOf([
  { name: "rates", columns, routewright: { max_age: 60 } },
  { name: "paid", tags: ["production", "shop", "api:paid", "tier1"], columns },
]);

describe("routewright purge", () => {
  /** A cache that records what it is asked. */
  async function recorder(status = 200) {
    const asked: { method?: string; url?: string; key?: string; token?: string; body: string }[] = [];
    const server = createServer((request, response) => {
      const { method, url, headers } = request;
      const key = headers["surrogate-key"] as string;
      let body = "";
      request.on("data", (chunk: Buffer) => (body += chunk.toString()));
      request.on("end", () => {
        asked.push({ method, url, key, token: headers.authorization, body } as never);
        response.writeHead(status).end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    atEnd(() => void server.close());
    return { asked, url: `http://127.0.0.1:${String((server.address() as { port: number }).port)}` };
  }

  const purge = async (config: unknown, args: string[] = [], variables: Record<string, string> = {}) => {
    const folder = ownInstallation(manifest);
    writeFileSync(join(folder, "routewright.config.json"), JSON.stringify(config));
    return run(folder, ["purge", ...args], variables);
  };

  it("asks for each address by PURGE, and for models by POST, with the token", async () => {
    const { asked, url } = await recorder();
    await purge({ purgeUrl: `${url}/edge/` }, [], { PURGE_TOKEN: "secret" });
    expect(asked.map(({ method, url: path }) => `${method ?? ""} ${path ?? ""}`)).toEqual(
      expect.arrayContaining(["PURGE /edge/v1/shop/rates", "PURGE /edge/v1/shop/rates.csv"]),
    );
    expect(new Set(asked.map(({ token }) => token))).toEqual(new Set(["Bearer secret"]));
    asked.length = 0;
    await purge({ purgeUrl: `${url}/all`, purgeMethod: "POST" }, ["paid"]);
    expect(asked).toMatchObject([{ method: "POST", url: "/all", key: "paid", body: '{"tags":["paid"]}' }]);
  });

  it("says which request failed, why, and keeps the token to itself", async () => {
    const { url } = await recorder(500);
    const config = { purgeUrl: url, purgeMethod: "POST" };
    const { code, stdout, stderr } = await purge(config, [], { PURGE_TOKEN: "secret" });
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(`POST ${url}/: the cache answered 500.`);
    expect(stderr).not.toContain("secret");
    const closed = await purge({ purgeUrl: `http://127.0.0.1:${String(await freePort())}` });
    expect(closed.stderr).toContain("ECONNREFUSED");
  });

  it.each([
    [{}, [], "No shared cache is configured: set `purgeUrl`"],
    [{ purgeUrl: "edge" }, [], "Write an http:// or https:// address."],
    [{ purgeUrl: "http://edge", purgeMethod: "DELETE" }, [], '"DELETE" is not allowed here.'],
    [{ purgeUrl: "http://edge" }, ["rate"], "generated has no endpoint of rate: name models of the API."],
  ])("refuses %j %j", async (config, args, message) => {
    const { code, stderr } = await purge(config, args);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});
