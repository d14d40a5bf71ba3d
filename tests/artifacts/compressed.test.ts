/** dbt's files compressed, in stores of each kind: they are read as the files that they hold. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import * as zlib from "node:zlib";
import { describe, expect, it } from "vitest";
import { PolledSource } from "../../generator/artifacts/polled-source.js";
import { readSource } from "../../generator/artifacts/source.js";
import { ARTIFACT_FILES } from "../../runtime/core/model/store-address.js";
import { needs } from "../support/needs.js";
import { listen } from "../support/port.js";
import { ownFolder } from "../support/service.js";
import { type TestStore, withVariables } from "./store.js";
import { STORES } from "./stores.js";

const TEXT = `{"metadata": {}, "nodes": {}, "ä": "${"x".repeat(100_000)}"}`;
/** Node 20 has none. */
const HAS_ZSTD = "zstdDecompress" in zlib;

const GZIP = zlib.gzipSync(TEXT);

/** Written by another program; null where none is installed. */
function zstd(text: string): Buffer | null {
  try {
    const code =
      "import sys, pyarrow as pa; sys.stdout.buffer.write(pa.compress(sys.stdin.buffer.read(), codec='zstd', asbytes=True))";
    return execFileSync("python3", ["-c", code], { input: text });
  } catch {
    return null;
  }
}

const hasServers = needs("moto_server", "gcp-storage-emulator", "azurite-blob");

/** By the suffix of their names, with what a store says of them. */
const FORMATS = { gz: [GZIP, "gzip"], zst: [zstd(TEXT), "zstd"] } as const;
const CASES = Object.keys(hasServers ? STORES : {}).flatMap((kind) =>
  (["gz", "zst"] as const).map((suffix) => [kind, suffix] as const),
);

describe.skipIf(!hasServers)("a store", () => {
  it.each(CASES)("%s gives what a file of .%s holds, to whoever reads it", async (kind, suffix) => {
    const store = await (STORES[kind] as () => Promise<TestStore>)();
    withVariables(store.variables);
    const [bytes, encoding] = FORMATS[suffix];
    if (bytes === null) return;
    const hasSiblings = kind !== "dbt-cloud://";
    for (const file of Object.values(ARTIFACT_FILES)) {
      await store.put(`plain/${file}`, bytes);
      await store.put(`own/${file}.${suffix}`, bytes);
      await store.put(`encoded/${file}`, bytes, encoding);
      const names = [
        `plain/${file}`,
        `own/${file}.${suffix}`,
        `encoded/${file}`,
        ...(hasSiblings ? [`own/${file}`] : []),
      ];
      for (const name of names) {
        const location = `${store.folder}/${name}`;
        const once = await readSource(location, {}, store.access);
        const polled = await new PolledSource(location, undefined, store.access).poll(null);
        if (suffix === "zst" && !HAS_ZSTD) {
          const says = expect.stringMatching(/compressed with zstd: Node 22\.15 or later reads it/) as string;
          expect([once, polled]).toMatchObject([{ problems: [says] }, { kind: "error", detail: says }]);
        } else
          expect([once, polled], name).toMatchObject([
            { ok: true, value: { text: TEXT } },
            { kind: "text", text: TEXT },
          ]);
      }
    }
    expect(await readSource(`${store.folder}/none/manifest.json`, {}, store.access)).toMatchObject({
      problems: [expect.stringMatching(/there is no such file|answered 404|not found/i) as string],
    });
  });
});

describe("a compressed file", () => {
  const folder = ownFolder();
  const put = (name: string, bytes: string | Buffer): string => {
    writeFileSync(join(folder, name), bytes);
    return join(folder, name);
  };

  it("of https:// is read with and without Content-Encoding", async () => {
    const host = await listen(
      createServer(({ url = "" }, response) => {
        response.writeHead(200, url.includes("encoded") ? { "content-encoding": "gzip" } : {}).end(GZIP);
      }),
    );
    for (const name of ["encoded.json", "plain.json"])
      expect(await readSource(`http://${host}/${name}`)).toMatchObject({ ok: true, value: { text: TEXT } });
  });

  it("is bounded by what comes out", async () => {
    expect(await readSource(put("large.json.gz", GZIP), { maxBytes: 50_000 })).toMatchObject({
      problems: [expect.stringMatching(/is too large/) as string],
    });
  });

  it("that is cut off is refused", async () => {
    expect(await readSource(put("cut.json.gz", GZIP.subarray(0, -20)))).toMatchObject({
      problems: [expect.stringMatching(/is not complete, or no gzip file/) as string],
    });
  });
});
