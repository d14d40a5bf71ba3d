import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { catalogueText, readCatalogue, readCatalogueIn } from "../../generator/catalogue/catalogue-file.js";
import { NO_LINEAGE } from "../../generator/catalogue/catalogue.js";
import { bundleOf } from "../support/bundle.js";
import { ownFolder } from "../support/service.js";
import { soundNodes } from "../render/manifests.js";
import { HOSTILE } from "../render/words.js";
import { catalogueFrom, catalogueOfText, manifestText } from "./catalogues.js";

const STARTER = readFileSync(
  fileURLToPath(new URL("../../templates/starter/manifest.json", import.meta.url)),
  "utf8",
);

describe("the catalogue of a generated folder", () => {
  const folder = ownFolder();
  const written = catalogueText(catalogueOfText(STARTER));
  const read = (text: string) => {
    writeFileSync(join(folder, "catalogue.json"), text);
    return readCatalogueIn(folder);
  };

  it("is read without the code of its schema where it is as it was written", async () => {
    expect(read(written)).toMatchObject({ ok: true });
    // In a process of its own: other tests load the schema.
    const reader = await bundleOf(fileURLToPath(new URL("./read-catalogue.ts", import.meta.url)));
    const { stdout, stderr } = spawnSync(process.execPath, [reader, folder], { encoding: "utf8" });
    expect([stderr, stdout]).toEqual(["", "true false\n"]);
  });

  it("is refused where it is damaged, with the digest of another text or none", () => {
    const damaged = written.replace('"tier": "tier1"', '"tier": "tier9"');
    const withoutDigest = damaged.replace(/ {2}"digest": "[0-9a-f]+",\n/, "");
    expect(withoutDigest).not.toBe(damaged);
    const refused = { ok: false, problems: [expect.stringContaining("is damaged")] };
    expect([read(damaged), read(withoutDigest)]).toMatchObject([refused, refused]);
  });
});

describe("a catalogue that is written and read back", () => {
  it("is the same for the starter, but for the warnings, the lineage and the inputs of its generation", () => {
    const catalogue = catalogueOfText(STARTER, { defaultTier: "tier2" });
    const reading = readCatalogue(catalogueText(catalogue, { title: "Numbers" }));
    expect(reading).toEqual({
      ok: true,
      value: { ...catalogue, warnings: [], lineage: NO_LINEAGE, inputs: undefined },
    });
    expect(catalogue.entries.length).toBeGreaterThan(20);
  });

  it("is the same for random models, whatever their names", () => {
    fc.assert(
      fc.property(soundNodes, (nodes) => {
        const catalogue = catalogueOfText(manifestText(nodes));
        const reading = readCatalogue(catalogueText(catalogue));
        expect(reading).toEqual({
          ok: true,
          value: { ...catalogue, warnings: [], lineage: NO_LINEAGE, inputs: undefined },
        });
      }),
      { numRuns: 200 },
    );
  });

  it("keeps what dbt says of columns and models", () => {
    const node = {
      resource_type: "model",
      name: "people",
      schema: "s",
      original_file_path: "models/people.sql",
      tags: ["production", "tier3", "api:people"],
      config: { materialized: "table", contract: { enforced: true } },
      columns: {
        id: { name: "id", data_type: "bigint", constraints: [{ type: "not_null" }] },
        kind: { name: "kind", data_type: "text" },
        email: { name: "email", data_type: "text", meta: { pii: true } },
        phone: { name: "phone", data_type: "text", tags: ["PII"] },
        note: { name: "note", data_type: "text", config: { meta: { contains_pii: "no" } } },
      },
    };
    const test = (name: string, column: string, kwargs: object, config: object = {}) => ({
      resource_type: "test",
      attached_node: "model.t.people",
      column_name: column,
      test_metadata: { name, kwargs },
      config: { severity: "ERROR", where: null, ...config },
    });
    const nodes = {
      "model.t.people": node,
      "test.t.1": test("not_null", "kind", {}),
      "test.t.2": test("accepted_values", "kind", { values: ["a", "b"] }),
      "test.t.3": test("not_null", "note", {}, { error_if: ">10" }),
    };
    const reading = readCatalogue(catalogueText(catalogueOfText(manifestText(nodes))));
    const [entry] = reading.ok ? reading.value.entries : [];
    expect(entry).toMatchObject({ file: "models/people.sql", hasTierTag: true, private: false });
    const facts = entry?.columns.map(({ name, notNull, acceptedValues, private: isPrivate }) => ({
      name,
      ...(notNull && { notNull }),
      ...(acceptedValues && { acceptedValues }),
      ...(isPrivate && { isPrivate }),
    }));
    expect(facts).toEqual([
      { name: "id", notNull: "constraint" },
      { name: "kind", notNull: "test", acceptedValues: ["a", "b"] },
      { name: "email", isPrivate: true },
      { name: "phone", isPrivate: true },
      { name: "note" },
    ]);
  });

  it("shows nothing that a reviewer cannot see", () => {
    const models = HOSTILE.filter((word) => word !== "").map((word, i) => ({
      name: `m${String(i)}`,
      tags: ["production", `api:r${String(i)}`],
      description: word,
      columns: { [word]: "text" },
    }));
    expect(catalogueText(catalogueFrom(models))).toMatch(
      /^[^\u0000-\u0009\u000b-\u001f\u200b-\u202e\ufeff]*$/u,
    );
  });
});

describe("a file that cannot be read says what to do", () => {
  const text = catalogueText(catalogueOfText(STARTER));
  const changed = (
    change: (file: Record<string, unknown> & { endpoints: Record<string, unknown>[] }) => void,
  ) => {
    const file = JSON.parse(text) as Parameters<typeof change>[0];
    change(file);
    return JSON.stringify(file);
  };
  it.each<[string, string, string]>([
    [
      "no JSON",
      "<html>",
      "x.json is not JSON: it looks like an HTML page; give the address of the file itself. Run `routewright generate`.",
    ],
    [
      "another document",
      '{"openapi":"3.1.0"}',
      "x.json is not a catalogue of Routewright: it has no schemaVersion. Run `routewright generate`.",
    ],
    [
      "a list",
      "[]",
      "x.json is not a catalogue of Routewright: it has no schemaVersion. Run `routewright generate`.",
    ],
    [
      "an older schema",
      changed((file) => (file["schemaVersion"] = 0)),
      "x.json has catalogue schema 0, of an earlier Routewright; this one reads 1. Run `routewright generate`.",
    ],
    [
      "a newer schema",
      changed((file) => (file["schemaVersion"] = 2)),
      "x.json has catalogue schema 2; this Routewright reads 1. Install the Routewright that wrote it, or a newer one.",
    ],
    [
      "a tier that is none",
      changed((file) => (file.endpoints[3] = { ...file.endpoints[3], tier: "tier9" })),
      "x.json is damaged: endpoints/3/tier must be equal to one of the allowed values. Run `routewright generate`.",
    ],
    [
      "a key that is not known",
      changed((file) => (file.endpoints[0] = { ...file.endpoints[0], ownr: "x" })),
      'x.json is damaged: endpoints/0 must NOT have additional properties ("ownr"). Run `routewright generate`.',
    ],
    [
      "a path twice",
      changed((file) => file.endpoints.push(file.endpoints[0] ?? {})),
      'x.json is damaged: it lists "/v1/altchain/altchain_card_active_users/last_7d" twice. Run `routewright generate`.',
    ],
    [
      "a merge conflict is named as one",
      '{\n<<<<<<< HEAD\n  "title": "a",\n=======\n  "title": "b",\n>>>>>>> main\n}',
      "x.json has a merge conflict. Run `routewright generate`, which resolves it.",
    ],
  ])("%s", (_, damaged, problem) => {
    expect(readCatalogue(damaged, "x.json")).toEqual({ ok: false, problems: [problem] });
  });
});
