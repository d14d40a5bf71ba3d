/** The recipe of n8n in runtime/docs/events.md: its code, with what n8n gives a Code node, and signatures of the library. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { expect, it } from "vitest";

const PAGE = readFileSync(join(import.meta.dirname, "../../../runtime/docs/events.md"), "utf8");
const KEY = Buffer.from("0123456789abcdef0123456789abcdef").toString("base64");
const BODY = JSON.stringify({ id: "evt_1", data: { path: "/v1/shop/größe" } });

type Headers = Readonly<Record<string, string>>;

/** What the node returns for a webhook. */
function received(headers: Headers, body: string): Promise<unknown> {
  const [, code = ""] = /```js\n([^]*?)```/.exec(PAGE) ?? [];
  const helpers = {
    getBinaryDataBuffer: (item: number, name: string) =>
      item === 0 && name === "data"
        ? Promise.resolve(Buffer.from(body))
        : Promise.reject(new Error("absent")),
  };
  // eslint-disable-next-line @typescript-eslint/no-implied-eval -- the page has it as a text
  const run = new Function(
    "$input",
    "require",
    `return (async () => {${code.replace("<the secret without whsec_>", KEY)}}).call(this)`,
  ) as (this: object, input: object, require: NodeJS.Require) => Promise<unknown>;
  return run.call({ helpers }, { first: () => ({ json: { headers } }) }, createRequire(import.meta.url));
}

function signed(at: Date): Headers {
  return {
    "webhook-id": "evt_1",
    "webhook-timestamp": String(Math.floor(at.getTime() / 1000)),
    "webhook-signature": new Webhook(`whsec_${KEY}`).sign("evt_1", at, BODY),
  };
}

it("the code of n8n reads events that are signed, and no others", async () => {
  const headers = signed(new Date());
  expect(await received(headers, BODY)).toEqual([{ json: JSON.parse(BODY) as unknown }]);
  const rotated = { ...headers, "webhook-signature": `v1,AAAA ${headers["webhook-signature"] ?? ""}` };
  expect(await received(rotated, BODY)).toEqual([{ json: JSON.parse(BODY) as unknown }]);
  await expect(received(headers, `${BODY} `)).rejects.toThrow("not signed");
  await expect(received({ ...headers, "webhook-signature": "v1," }, BODY)).rejects.toThrow("not signed");
  await expect(received(signed(new Date(Date.now() - 301_000)), BODY)).rejects.toThrow("not signed");
});
