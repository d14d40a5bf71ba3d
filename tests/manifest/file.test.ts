import { createWriteStream, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { describe, expect, it } from "vitest";
import { parseDbtJson } from "../../generator/manifest/json-text.js";
import { readManifest } from "../../generator/manifest/manifest.js";
import { readSource } from "../../generator/artifacts/source.js";
import { manifestOf } from "../support/manifest.js";
import { ownFolder } from "../support/service.js";

const folder = ownFolder();
const manifest = JSON.stringify(manifestOf([{ name: "a", tags: ["production", "api:a"] }]));

function file(name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

async function problemOf(path: string): Promise<string> {
  const reading = await readManifest(path);
  return reading.ok ? "" : reading.problems.join(" ").replaceAll(folder, "<folder>");
}

describe("numbers that JSON lacks and Python writes", () => {
  it("are read wherever they stand, and texts with the same letters stay", () => {
    const text = String.raw`{"a":NaN,"b":[-Infinity, Infinity ,1e5],"NaN":"NaN, \"Infinity\", \\","c":{"d":[[NaN]]},"e":"","f":"${"\ue000"}NaN","g":12345678901234567890}`;
    expect(parseDbtJson(text)).toEqual({
      a: NaN,
      b: [-Infinity, Infinity, 1e5],
      NaN: 'NaN, "Infinity", \\',
      c: { d: [[NaN]] },
      e: "",
      f: "\ue000NaN",
      g: 12345678901234567890,
    });
    expect(parseDbtJson("-Infinity")).toBe(-Infinity);
    const deep = 100_000;
    expect(JSON.stringify(parseDbtJson(`${"[".repeat(1000)}NaN${"]".repeat(1000)}`))).toContain("null");
    expect(parseDbtJson(`[NaN,"${"\\n".repeat(deep)}"]`)).toEqual([NaN, "\n".repeat(deep)]);
  });

  it.each(["{", '{"a":nan}', '{"a":NaN,}', '{"a":+Infinity}', '{"a":NaNs}', '["NaN]'])(
    "do not make valid: %s",
    (text) => {
      expect(() => parseDbtJson(text)).toThrow(SyntaxError);
    },
  );
});

describe("a manifest file", () => {
  it("is read, also with a byte order mark", async () => {
    for (const text of [manifest, `\ufeff${manifest}`]) {
      expect(await readManifest(file("manifest.json", text))).toMatchObject({ ok: true });
    }
  });

  it("is in UTF-8: a tag in other bytes would lose its tier", async () => {
    const tagged = JSON.stringify(manifestOf([{ name: "a", tags: ["production", "api:a", "tier3"] }]));
    const others = [
      Buffer.from(tagged.replaceAll("tier3", "t\xff\xffr3"), "latin1"),
      Buffer.from(`\ufeff${tagged}`, "utf16le"),
    ];
    for (const bytes of others)
      expect(await problemOf(file("x.json", bytes))).toBe(
        "<folder>/x.json is not in UTF-8: dbt writes UTF-8. Copy the file again, byte by byte.",
      );
  });

  it.each<[string, string, string]>([
    ["is empty", "", "<folder>/x.json is not JSON: it is empty."],
    ["is blank", " \n", "<folder>/x.json is not JSON: it is empty."],
    [
      "is an HTML page",
      "<!doctype html><title>Sign in</title>",
      "<folder>/x.json is not JSON: it looks like an HTML page; give the address of the file itself.",
    ],
    ...["name: shop\n", "# The shop.\n\n---\r\nname: shop\n"].map((text): [string, string, string] => [
      "is YAML",
      text,
      "<folder>/x.json is not JSON: it looks like YAML. Name a file of JSON.",
    ]),
    [
      "is a list",
      "[1]",
      "<folder>/x.json is not a dbt manifest: metadata.dbt_schema_version or nodes is missing. Give the manifest.json that dbt writes to target/.",
    ],
    [
      "is null",
      "null",
      "<folder>/x.json is not a dbt manifest: metadata.dbt_schema_version or nodes is missing. Give the manifest.json that dbt writes to target/.",
    ],
    [
      "is another artifact",
      '{"metadata":{"dbt_schema_version":"https://schemas.getdbt.com/dbt/run-results/v5.json"},"results":[]}',
      '<folder>/x.json is not a dbt manifest: its metadata.dbt_schema_version is "https://schemas.getdbt.com/dbt/run-results/v5.json", or it has no nodes. Give target/manifest.json.',
    ],
    [
      "has no nodes",
      '{"metadata":{"dbt_schema_version":"https://schemas.getdbt.com/dbt/manifest/v12.json"},"nodes":[]}',
      '<folder>/x.json is not a dbt manifest: its metadata.dbt_schema_version is "https://schemas.getdbt.com/dbt/manifest/v12.json", or it has no nodes. Give target/manifest.json.',
    ],
  ])("that %s is refused in one line", async (_, text, problem) => {
    expect(await problemOf(file("x.json", text))).toBe(problem);
  });

  it("that is cut off is refused", async () => {
    expect(await problemOf(file("cut.json", manifest.slice(0, 200)))).toMatch(
      /^<folder>\/cut\.json is not JSON: [^\n]+$/,
    );
  });

  it("that is not there is refused with what writes it", async () => {
    expect(await problemOf(join(folder, "none.json"))).toBe(
      "Cannot read <folder>/none.json: there is no such file. `dbt parse` or `dbt build` writes it to target/.",
    );
  });

  it("that is a folder is refused", async () => {
    mkdirSync(join(folder, "target"));
    expect(await problemOf(join(folder, "target"))).toBe(
      "Cannot read <folder>/target: it is a folder; name the file in it.",
    );
  });

  it("above the limit is refused before it is read", async () => {
    const path = file("big.json", " ".repeat(2 * 1024 * 1024));
    expect(await readSource(path, { maxBytes: 1024 * 1024 })).toEqual({
      ok: false,
      problems: [`${path} is too large: at most 1 MB are read.`],
    });
  });

  it("of 100 MB is read", async () => {
    const path = join(folder, "large.json");
    await writeLarge(path);
    const reading = await readManifest(path);
    expect(reading.ok && reading.value.models.length).toBe(1000);
  });
});

/** What makes real manifests large: the SQL of every model, raw and compiled. */
async function writeLarge(path: string): Promise<void> {
  const sql = "select * from analytics.transfers -- ".repeat(1400);
  const stream = createWriteStream(path);
  stream.write(JSON.stringify(manifestOf([])).replace(/"nodes":\{\}\}$/, '"nodes":{'));
  for (let i = 0; i < 1000; i++) {
    const node = {
      resource_type: "model",
      name: `m${String(i)}`,
      schema: "s",
      raw_code: sql,
      compiled_code: sql,
    };
    stream.write(`${i === 0 ? "" : ","}"model.t.m${String(i)}":${JSON.stringify(node)}`);
  }
  stream.end("}}");
  await finished(stream);
}
