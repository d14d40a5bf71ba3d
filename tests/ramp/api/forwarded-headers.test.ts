/** Forwarded headers that a caller makes up, with what the ramp's templates set. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { clientAddress } from "../../../runtime/core/environment/common.js";
import type { RampOptions } from "../../../runtime/ramp/start-ramp.js";
import { sendRequest } from "../../support/http-client.js";
import { setClockBack } from "../../support/clock.js";
import { HOSTILE, startIngress } from "../../support/ingress.js";
import { SERVER } from "../support/server.js";
import { call, newCustomer, north, ownWorld } from "../support/world.js";

const TEMPLATES = join(import.meta.dirname, "../../../templates/docker/ramp");
const textOf = (file: string): string => readFileSync(join(TEMPLATES, file), "utf8");
const files = readdirSync(TEMPLATES).filter((file) => textOf(file).includes("TRUST_PROXY"));

/** A variable of the template, as Compose or Kubernetes sets it. */
const valueOf = (file: string, name: string): string =>
  new RegExp(`\\b${name}(?:, value)?: "?(?:\\$\\{\\w+:-)?([^"\\s}]+)`).exec(textOf(file))?.[1] ?? "";

it("the ramp's templates that trust a proxy name an address of their own", () => {
  expect(files.sort()).toEqual(["compose.yml", "kubernetes.yml"]);
  for (const file of files)
    expect([file, valueOf(file, "TRUST_PROXY"), valueOf(file, "RAMP_PUBLIC_URL")]).toEqual([
      file,
      "1",
      expect.stringMatching(/^https?:\/\//),
    ]);
});

describe.each(files)("a ramp with what %s sets, behind a proxy", (file) => {
  const start = async (limits: Partial<RampOptions["limits"]> = {}) => {
    const world = await ownWorld({
      addressOf: clientAddress(valueOf(file, "TRUST_PROXY")),
      publicUrl: valueOf(file, "RAMP_PUBLIC_URL"),
      limits: { ...SERVER.limits, ...limits },
    });
    return { world, ...(await startIngress(world.url)) };
  };

  it("sends nothing that a caller's forwarded headers have, and opens no path of operators", async () => {
    const { world, url } = await start();
    const auth = await newCustomer(world, await world.project());
    const { json } = await call(url, "POST", "/v1/intent", { auth, body: north({ srcAmount: "900.00" }) });
    const page = new URL(String(json.onboardingUrl));
    expect(page.origin).toBe(new URL(valueOf(file, "RAMP_PUBLIC_URL")).origin);
    const read = async (path: string, headers: Readonly<Record<string, string>>): Promise<unknown> => {
      const { status, text, headers: found } = await sendRequest(url, path, { headers });
      return { status, text, location: found.location, link: found.link, cookie: found["set-cookie"] };
    };
    const paths = ["/", "/docs", "/docs/", "/redoc", "/openapi.json", page.pathname, "/pages/page.js"];
    for (const path of paths) {
      const plain = await read(path, {});
      expect(plain).toMatchObject({ status: path === "/docs/" ? 301 : 200 });
      for (const headers of HOSTILE)
        expect([path, headers, await read(path, headers)]).toEqual([path, headers, plain]);
    }
    for (const headers of HOSTILE)
      expect([headers, (await sendRequest(url, "/metrics", { headers })).status]).toEqual([headers, 403]);
  });

  it.each([
    ["/openapi.json", 200],
    ["/v1/auth/wallet/nonce", 200],
    ["/v1/customers", 401],
  ])("a caller that makes up its address has one window at %s", async (path, status) => {
    const { url } = await start({ documentsPerAddress: 5, perAddress: 5, failedLoginsPerAddress: 5 });
    // A window ends by this clock.
    setClockBack(0);
    const statuses: number[] = [];
    for (let i = 0; i < 12; i++) {
      const made = `198.51.100.${String(i)}`;
      const headers = { "x-forwarded-for": made, forwarded: `for=${made}`, "x-real-ip": made };
      statuses.push((await sendRequest(url, path, { headers })).status);
    }
    expect(statuses).toEqual([...Array<number>(5).fill(status), ...Array<number>(7).fill(429)]);
  });
});
