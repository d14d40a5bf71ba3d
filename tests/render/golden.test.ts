/**
 * `tests/golden/<case>/`: the smallest manifest that shows a behaviour, beside what `generate` makes of it: `stdout.txt`,
 * and either `expected/` or `stderr.txt`. All files are compared, also those that should not be there; of most cases' OpenAPI
 * document its endpoints alone, and the whole of two (WHOLE, DIFFERENCE). After a change that is meant, `UPDATE_GOLDEN=1 npm test -- golden` regenerates them, for review in the diff.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { expect, it } from "vitest";
import { EXIT } from "../../generator/commands/command.js";
import { generate } from "../../generator/commands/generate.js";
import { filesIn } from "../support/files.js";
import { ownFolder } from "../support/service.js";
import { complaintsOf } from "./compiler.js";

const GOLDEN = fileURLToPath(new URL("../golden/", import.meta.url));
const CASES = readdirSync(GOLDEN, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

/** What stands in a case's folder once its manifest is generated from, its manifest left out. */
async function made(name: string): Promise<Record<string, string>> {
  const out = ownFolder();
  const outcome = await generate({
    manifest: join(GOLDEN, name, "manifest.json"),
    out,
    check: false,
    strict: false,
    json: false,
    defaultTier: "tier0",
    title: null,
  });
  const plain = (text: string): string => text.replaceAll(out, "generated").replaceAll(GOLDEN, "");
  const files = Object.entries(partsOf(name, filesIn(out))).map(([file, text]) => [`expected/${file}`, text]);
  return {
    ...Object.fromEntries(files),
    ...(outcome.output && { "stdout.txt": plain(outcome.output) }),
    ...(outcome.exit === EXIT.error && { "stderr.txt": plain(`${(outcome.errors ?? []).join("\n")}\n`) }),
  };
}

/** The case whose document is compared whole. Elsewhere only what differs between endpoints is. */
const WHOLE = "every-operator";
/** Written as its difference from the whole one: its responses and schemas differ too. The digest in `catalogue.json` is of its bytes. */
const DIFFERENCE = "pages-in-envelope";

function partsOf(name: string, files: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const openApi = files["openapi.json"];
  const modules = Object.fromEntries(Object.entries(files).filter(([file]) => file.endsWith(".ts")));
  if (openApi === undefined || name === WHOLE) return files;
  const document = JSON.parse(openApi) as OpenApi;
  if (name === DIFFERENCE) {
    const others = Object.entries(files).filter(([file]) => file !== "openapi.json");
    const part = jsonText(difference(wholeDocument(), document));
    return { ...Object.fromEntries(others), "openapi.difference.json": part };
  }
  const part = endpointsOf(document);
  return part === null ? modules : { ...modules, "openapi.part.json": jsonText(part) };
}

const jsonText = (value: object): string => `${JSON.stringify(value, null, 2)}\n`;

const wholeDocument = (): OpenApi =>
  JSON.parse(readFileSync(join(GOLDEN, WHOLE, "expected", "openapi.json"), "utf8")) as OpenApi;

/** What makes one object of the other: names that go, and the values of others. Lists are whole. */
function difference(from: object, to: object): object {
  const old = new Map(Object.entries(from));
  const changed = Object.entries(to)
    .filter(([name, value]) => !isDeepStrictEqual(old.get(name), value))
    .map(([name, value]: [string, unknown]) => {
      const before: unknown = old.get(name);
      return [name, isObject(before) && isObject(value) ? difference(before, value) : value];
    });
  const gone = [...old.keys()].filter((name) => !(name in to));
  return { ...(gone.length > 0 && { "(gone)": gone }), ...(Object.fromEntries(changed) as object) };
}

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
}

interface Operation {
  readonly tags: readonly string[];
  readonly responses: object;
}

/** The data operations without what is the same for all: their responses; and the rows. Null when there are none. */
function endpointsOf({ paths, components }: OpenApi): object | null {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { tags }]) => !tags.includes("System"))
      .map(([method, { responses, ...operation }]) => [
        `${method} ${path}`,
        { ...operation, responses: Object.keys(responses) },
      ]),
  );
  if (operations.length === 0) return null;
  const rows = Object.entries(components.schemas).filter(([schema]) => schema.endsWith("_row"));
  return { ...Object.fromEntries(operations), rows: Object.fromEntries(rows) } as object;
}

function rewrite(name: string, files: Readonly<Record<string, string>>): void {
  for (const old of readdirSync(join(GOLDEN, name))) {
    if (old !== "manifest.json") rmSync(join(GOLDEN, name, old), { recursive: true });
  }
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(GOLDEN, name, file)), { recursive: true });
    writeFileSync(join(GOLDEN, name, file), text);
  }
}

it.each(CASES)("generate, from the manifest of %s, renders the expected output", async (name) => {
  const files = await made(name);
  if (process.env["UPDATE_GOLDEN"]) rewrite(name, files);
  const manifest = readFileSync(join(GOLDEN, name, "manifest.json"), "utf8");
  expect({ ...files, "manifest.json": manifest }).toEqual(filesIn(join(GOLDEN, name)));
});

it("the expected output compiles under strict", () => {
  const folders = CASES.filter((name) => existsSync(join(GOLDEN, name, "expected"))).map(
    (name) => new Map(Object.entries(filesIn(join(GOLDEN, name, "expected")))),
  );
  expect(folders.length).toBeGreaterThan(20);
  expect(complaintsOf(folders)).toEqual([]);
});

it("a case has its expected output", () => {
  for (const name of CASES) {
    expect(readFileSync(join(GOLDEN, name, "manifest.json"), "utf8")).not.toBe("");
    const found = readdirSync(join(GOLDEN, name));
    expect(found.includes("expected") || found.includes("stderr.txt"), name).toBe(true);
  }
});
