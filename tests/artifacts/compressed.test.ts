/** dbt's files compressed, in stores of each kind: they are read as the files that they hold. */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { readSource } from "../../generator/artifacts/source.js";
import { needs } from "../support/needs.js";
import { listen } from "../support/port.js";
import { ownFolder } from "../support/service.js";
import { azurite, gcsEmulator, moto } from "./object-stores.js";
import { withVariables } from "./store.js";

const TEXT = `{"metadata": {}, "nodes": {}, "ä": "${"x".repeat(100_000)}"}`;
const GZIP = gzipSync(TEXT);

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

const STORES = {
  "s3://": moto,
  "gs://": gcsEmulator,
  "az://": () => azurite("az"),
};

describe.skipIf(!needs("moto_server", "gcp-storage-emulator", "azurite-blob"))("a store", () => {
  it.each(Object.entries(STORES))("of %s gives what a compressed file holds", async (_, start) => {
    const store = await start();
    withVariables(store.variables);
    await store.put("dbt/manifest.json", GZIP);
    await store.put("gz/manifest.json.gz", GZIP);
    const read = async (name: string): Promise<string> => {
      const found = await readSource(`${store.folder}/${name}`, {}, store.access);
      return found.ok ? found.value.text : found.problems.join();
    };
    // Under the plain name, under its own, and where only the compressed one is there.
    for (const name of ["dbt/manifest.json", "gz/manifest.json.gz", "gz/manifest.json"])
      expect(await read(name)).toBe(TEXT);
    expect(await read("none/manifest.json")).toMatch(/there is no such file|answered 404/);
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

  it("of zstd is read, or the version of Node that reads it is named", async () => {
    const bytes = zstd(TEXT);
    if (bytes === null) return;
    const found = await readSource(put("manifest.json.zst", bytes));
    const isNew = "zstdDecompress" in (await import("node:zlib"));
    if (isNew) expect(found).toMatchObject({ ok: true, value: { text: TEXT } });
    else
      expect(found).toMatchObject({
        problems: [expect.stringMatching(/compressed with zstd: Node 22\.15 or later reads it/) as string],
      });
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
