import { gunzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { BufferedResult } from "../../../runtime/core/response/buffered-result.js";

it("a compression that fails is not kept: the next response compresses again", async () => {
  const part = (text: string): Buffer => Buffer.from(Buffer.from(text).toString("latin1").repeat(20_000));
  // No bytes, which no library compresses.
  const broken = { length: 20_000, buffer: new ArrayBuffer(20_000) } as unknown as Buffer;
  const parts = [part("a"), broken];
  const result = new BufferedResult(parts, 1, 1);
  result.keep();
  const failures = await Promise.allSettled([result.compressed("gzip"), result.compressed("gzip")]);
  expect(failures.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  parts[1] = part("b");
  const [first, second] = [result.compressed("gzip"), result.compressed("gzip")];
  expect(gunzipSync(await first).toString()).toBe("a".repeat(20_000) + "b".repeat(20_000));
  expect(await second).toBe(await first);
});
