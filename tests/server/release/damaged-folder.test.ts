import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { workerRenderer } from "../../../generator/watch/worker-renderer.js";
import { messageOf } from "../../../runtime/core/model/outcome.js";
import { sendRequest } from "../../support/http-client.js";
import { serve, type Served } from "../../support/command.js";
import { databaseUrl, ownSchema } from "../../support/database.js";
import { manifestOf, type TestModel } from "../../support/manifest.js";
import { generateInto, KEYS, ownFolder, startFolder, ownInstallation } from "../../support/service.js";

const schema = await ownSchema("CREATE TABLE @.items AS SELECT 1 AS id");
const model = (name: string, ...tags: readonly string[]): TestModel => ({
  name,
  schema,
  alias: "items",
  tags: ["production", "shop", `api:${name}`, ...tags],
  columns: { id: "integer" },
});

/** `plain` has no tier tag: the folder's default tier closes it. */
const NOW = manifestOf([model("secret", "tier3"), model("plain"), model("open", "tier0")]);
/** Everything was open once, and will be again. */
const OLDER = manifestOf([model("secret", "tier0"), model("plain", "tier0"), model("open", "tier0")]);
const NEWER = manifestOf([model("secret"), model("plain"), model("open"), model("more")]);

function generated(manifest: unknown, defaultTier: "tier0" | "tier3"): string {
  const folder = join(ownFolder(), "generated");
  generateInto(folder, manifest, { defaultTier });
  return folder;
}

const current = generated(NOW, "tier3");
const older = generated(OLDER, "tier0");
const newer = generated(NEWER, "tier0");
/** Of the modules, which are read in one way, that of the highest tier. */
const FILES = readdirSync(current, { recursive: true, encoding: "utf8" })
  .filter((name) => /\.json$|secret\.ts$/.test(name))
  .sort();

const text = (folder: string, file: string): string => readFileSync(join(folder, file), "utf8");
const DAMAGES: Readonly<Record<string, (file: string) => string | Buffer | null>> = {
  missing: () => null,
  empty: () => "",
  cut: (file) => text(current, file).slice(0, text(current, file).length / 2),
  "of other content": (file) =>
    file === "lineage.json" ? "{}" : text(current, file).replaceAll("tier3", "tier0") + " ",
  "in UTF-16": (file) => Buffer.from(`\ufeff${text(current, file)}`, "utf16le"),
  "with bytes that are no UTF-8": (file) =>
    Buffer.from(text(current, file).replace("tier3", "t\xff\xffr3"), "latin1"),
  older: (file) => text(older, file),
  newer: (file) => text(newer, file),
};

/** Each damage of a file, as the folder then is. */
const CASES = FILES.flatMap((file) =>
  Object.entries(DAMAGES).flatMap(([damage, change]) => {
    const content = change(file);
    const isSame = content !== null && Buffer.from(content).equals(readFileSync(join(current, file)));
    return isSame ? [] : [[file, damage, content] as const];
  }),
);

function replace(folder: string, file: string, content: string | Buffer | null): void {
  if (content === null) rmSync(join(folder, file));
  else writeFileSync(join(folder, file), content);
}

function restore(folder: string): void {
  rmSync(folder, { recursive: true });
  cpSync(current, folder, { recursive: true });
}

const statuses = (url: string): Promise<readonly number[]> =>
  Promise.all(
    ["secret", "plain", "open"].map(async (name) => (await sendRequest(url, `/v1/shop/${name}`)).status),
  );
const AS_GENERATED = [403, 403, 200];

/** A server of a copy of the folder, which can be damaged, reloaded and refreshed. */
async function installation() {
  const folder = ownFolder();
  const generatedFolder = join(folder, "generated");
  cpSync(current, generatedFolder, { recursive: true });
  const manifest = join(folder, "manifest.json");
  writeFileSync(manifest, JSON.stringify(NOW));
  const options = { manifest, title: null, generated: generatedFolder, allowEdited: false, guard: null };
  const service = await startFolder(
    generatedFolder,
    { RATE_LIMITS: "100000" },
    { renderer: workerRenderer(options) },
  );
  return { folder: generatedFolder, manifest, service };
}

describe("a generated folder with a file that is", async () => {
  const { folder, manifest, service } = await installation();
  let version = 0;

  it.each(CASES.map(([file, damage, content]) => [damage, file, content] as const))(
    "%s is not served, and what is served stays: %s",
    async (_damage, file, content) => {
      replace(folder, file, content);
      writeFileSync(manifest, JSON.stringify({ ...(NOW as object), version: ++version }));
      const [refreshed, , started] = await Promise.all([
        service.refresh(),
        service.reload(),
        startFolder(folder).catch(messageOf),
      ]);
      expect(started).toContain(file === "catalogue.json" ? folder : file);
      expect(refreshed).toMatchObject({ status: "error", detail: expect.stringContaining(folder) });
      expect(await statuses(service.url)).toEqual(AS_GENERATED);
      restore(folder);
      await service.reload();
      expect(await statuses(service.url)).toEqual(AS_GENERATED);
    },
  );

  it("nor one without routes/, or with a module that was not generated", async () => {
    rmSync(join(folder, "routes"), { recursive: true });
    await expect(startFolder(folder)).rejects.toThrow("routes/shop/open.ts is missing");
    restore(folder);
    mkdirSync(join(folder, "routes/a"));
    const copy = text(current, "routes/shop/secret.ts").replace('tier: "tier3"', 'tier: "tier0"');
    writeFileSync(join(folder, "routes/a/copy.ts"), copy);
    await expect(startFolder(folder)).rejects.toThrow(
      /routes\/a\/copy\.ts is not listed in catalogue\.json\. Delete it; for a rollback run `git restore --source/,
    );
    await service.reload();
    expect(await statuses(service.url)).toEqual(AS_GENERATED);
    await expect(startFolder(folder, {}, { allowEdited: true })).rejects.toThrow(
      "shop/secret.ts and a/copy.ts both serve /v1/shop/secret: delete one of them.",
    );
    restore(folder);
  });
});

it("a module that is edited on purpose is served with --allow-edited, unless its tier is none", async () => {
  const { folder } = await installation();
  const file = join(folder, "routes/shop/secret.ts");
  const module = readFileSync(file, "utf8");
  writeFileSync(file, module.replace("tier3", "tier1"));
  const { url } = await startFolder(folder, {}, { allowEdited: true });
  expect((await sendRequest(url, "/v1/shop/secret", { key: KEYS.tier1 })).status).toBe(200);
  writeFileSync(file, module.replace("tier3", "teir3"));
  await expect(startFolder(folder, {}, { allowEdited: true })).rejects.toThrow('"teir3" is not a tier');
});

describe.each([
  ["one process", "1"],
  ["workers", "2"],
])("a folder that is generated with another default tier, in %s", (_, workers) => {
  const reload = async (served: Served, outcome: string): Promise<void> => {
    const count = (): number => served.printed().stdout.split(`"msg":"${outcome}`).length;
    const before = count();
    served.child.kill("SIGHUP");
    await expect.poll(count).toBe(before + 1);
  };

  it("is followed at SIGHUP and by each refresh; a damaged one is not", async () => {
    const folder = ownInstallation(NOW, { defaultTier: "tier0" });
    writeFileSync(join(folder, "manifest.json"), JSON.stringify(NOW));
    const served = await serve(folder, ["--only", "data", "--workers", workers], {
      DATABASE_URL: databaseUrl,
      DBT_MANIFEST_PATH: "manifest.json",
      API_KEYS: JSON.stringify({ [KEYS.tier3]: "tier3" }),
    });
    const refresh = async (): Promise<unknown> =>
      JSON.parse(
        (await sendRequest(served.url, "/v1/system/manifest/refresh", { method: "POST", key: KEYS.tier3 }))
          .text,
      );
    expect(await refresh()).toMatchObject({ endpoints: 3 });
    expect(await statuses(served.url)).toEqual([403, 200, 200]);
    generateInto(join(folder, "generated"), NOW, { defaultTier: "tier3" });
    await reload(served, "reloaded");
    expect(await statuses(served.url)).toEqual(AS_GENERATED);
    expect(await refresh()).toMatchObject({ status: "unchanged" });
    rmSync(join(folder, "generated/catalogue.json"));
    await reload(served, "not reloaded");
    writeFileSync(join(folder, "manifest.json"), `${JSON.stringify(NOW)} `);
    expect(await refresh()).toMatchObject({
      status: "error",
      detail: expect.stringContaining("catalogue.json"),
    });
    expect(await statuses(served.url)).toEqual(AS_GENERATED);
  });
});
