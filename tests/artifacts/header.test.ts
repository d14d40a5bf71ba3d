import { createServer, type IncomingMessage } from "node:http";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { routewright } from "../commands/run.js";
import { listen } from "../support/port.js";
import { ownFolder } from "../support/service.js";
import { buildFiles } from "./builds.js";

const VALUE = "glpat-s3cr3t";
const HEADER = { DBT_ARTIFACTS_HEADER: `PRIVATE-TOKEN: ${VALUE}` };

/** A server of dbt's files that asks for the header, and one of another origin; each keeps what it was sent. */
async function servers(redirect: (own: string, other: string) => string | null = () => null) {
  const requests: { origin: string; path: string; token: unknown; authorization: unknown }[] = [];
  let [own, other] = ["", ""];
  const keep = (origin: string, { url = "", headers }: IncomingMessage): void => {
    requests.push({
      origin,
      path: url,
      token: headers["private-token"],
      authorization: headers.authorization,
    });
  };
  const text = (url = ""): string => buildFiles(1)[url.replace(/^.*\/|\?.*$/g, "")] ?? "";
  own = `http://${await listen(
    createServer((request, response) => {
      keep("own", request);
      const target = request.url?.startsWith("/target") === true ? redirect(own, other) : null;
      if (target !== null) return void response.writeHead(302, { location: target }).end();
      const isAllowed = request.headers["private-token"] === VALUE;
      response
        .writeHead(isAllowed ? 200 : 401)
        .end(isAllowed ? text(request.url) : `Give a token, not ${VALUE}`);
    }),
  )}`;
  other = `http://${await listen(
    createServer((request, response) => {
      keep("other", request);
      const back = new URL(request.url ?? "", "http://x").searchParams.get("to");
      if (back !== null) return void response.writeHead(302, { location: back }).end();
      response.end(text(request.url));
    }),
  )}`;
  return { own, other, requests };
}

describe("DBT_ARTIFACTS_HEADER", () => {
  it("is sent to the address of the settings, and to that of a flag", async () => {
    const { own, requests } = await servers();
    const folder = ownFolder();
    expect(
      (await routewright(folder, ["generate"], { ...HEADER, DBT_ARTIFACTS_URL: `${own}/target` })).exit,
    ).toBe(0);
    expect(requests.length).toBeGreaterThan(2);
    expect(requests.every(({ token }) => token === VALUE)).toBe(true);
    const flag = await routewright(folder, ["lint", "--manifest", `${own}/manifest.json`], HEADER);
    expect(flag.exit).not.toBe(2);
  });

  it("goes with a redirect within its origin, and not to another", async () => {
    for (const [target, token] of [
      [(own: string) => `${own}/elsewhere/manifest.json`, VALUE],
      [(_: string, other: string) => `${other}/manifest.json?signature=1`, undefined],
    ] as const) {
      const { own, requests } = await servers(target);
      const address = `${own.replace("//", "//me:login@")}/target/manifest.json`;
      const { exit } = await routewright(ownFolder(), ["generate"], { ...HEADER, DBT_MANIFEST_URL: address });
      expect(exit).toBe(0);
      expect(requests[0]).toMatchObject({
        origin: "own",
        token: VALUE,
        authorization: expect.stringMatching(/^Basic /),
      });
      expect(requests[1]?.token).toBe(token);
      expect(requests[1]?.authorization === undefined).toBe(token === undefined);
    }
  });

  it.each<[string, (own: string, other: string) => string, string]>([
    ["to another origin of the settings", (_, other) => `${other}/manifest.json`, "other"],
    [
      "away and back",
      (own, other) => `${other}/back?to=${encodeURIComponent(`${own}/manifest.json`)}`,
      "own",
    ],
  ])("is not sent after a redirect %s", async (_, target, last) => {
    const { own, other, requests } = await servers(target);
    const variables = {
      ...HEADER,
      DBT_MANIFEST_URL: `${own}/target/manifest.json`,
      DBT_RUN_RESULTS_URL: `${other}/r`,
    };
    await routewright(ownFolder(), ["generate"], variables);
    expect(requests[0]).toMatchObject({ origin: "own", token: VALUE });
    expect(requests.at(-1)?.origin).toBe(last);
    expect(requests.slice(1).map(({ token }) => token)).toEqual(requests.slice(1).map(() => undefined));
  });

  it("is not sent to an address that is an argument, unless its origin is one of the settings", async () => {
    const { own, other, requests } = await servers();
    const folder = ownFolder();
    const variables = { ...HEADER, DBT_MANIFEST_URL: `${own}/manifest.json` };
    const { exit } = await routewright(
      folder,
      ["diff", `${other}/manifest.json`, `${own}/manifest.json`],
      variables,
    );
    expect(exit).toBe(0);
    // The two files are read at once.
    expect(new Map(requests.map(({ origin, token }) => [origin, token]))).toEqual(
      new Map([
        ["other", undefined],
        ["own", VALUE],
      ]),
    );
    expect(requests).toHaveLength(2);
  });

  it("is sent by changelog too, which reads a manifest with the catalog of the settings", async () => {
    const { own } = await servers();
    const folder = ownFolder();
    const variables = { ...HEADER, DBT_ARTIFACTS_URL: `${own}/target` };
    await routewright(folder, ["generate"], variables);
    const same = await routewright(folder, ["changelog", `${own}/target/manifest.json`], variables);
    expect(same).toEqual({ exit: 0, out: "# Data API: changes\n", err: "" });
  });

  it("is sent by lint too, where the base is a manifest", async () => {
    const { own } = await servers();
    const variables = { ...HEADER, DBT_ARTIFACTS_URL: `${own}/target` };
    const { exit, err } = await routewright(
      ownFolder(),
      ["lint", "--base", `${own}/target/manifest.json`],
      variables,
    );
    expect({ exit, err }).toEqual({ exit: 0, err: "" });
  });

  it("is not sent over http to another machine", async () => {
    const variables = { ...HEADER, DBT_MANIFEST_URL: "http://192.0.2.1/manifest.json" };
    expect(await routewright(ownFolder(), ["generate"], variables)).toMatchObject({
      exit: 2,
      err: "error: Cannot fetch http://192.0.2.1/manifest.json: DBT_ARTIFACTS_HEADER is sent over https, or to this machine, only. Use an https:// address.\n",
    });
  });

  it("is in no message, also where the server quotes it, and in no setting that is shown", async () => {
    const { own } = await servers();
    const folder = ownFolder();
    writeFileSync(join(folder, "routewright.config.json"), JSON.stringify({ artifacts: `${own}/target` }));
    const wrong = { DBT_ARTIFACTS_HEADER: "PRIVATE-TOKEN: wr0ng-value" };
    const refused = await routewright(folder, ["generate"], wrong);
    expect(refused).toMatchObject({
      exit: 2,
      err: expect.stringMatching(/answered 401; expected 200 with the file/),
    });
    const shown = await routewright(folder, ["config", "--json"], HEADER);
    expect(JSON.stringify([refused, shown])).not.toMatch(/wr0ng|s3cr3t/);
  });
});
