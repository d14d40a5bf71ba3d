/**
 * What `npm run build` does after the compiler. The command line is bundled, and what it would else work out at each start
 * is computed; the packages get what is not compiled: templates, Redoc, the MCP server and the code of the documentation pages.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { Ajv } from "ajv";
import standalone from "ajv/dist/standalone/index.js";
import { build, type BuildOptions, type Plugin } from "esbuild";
import { CATALOGUE_SCHEMA } from "../generator/catalogue/catalogue-schema.js";
import { META_API_SCHEMA } from "../generator/catalogue/settings/meta-api.js";
import { META_ROUTEWRIGHT_SCHEMA } from "../generator/catalogue/settings/meta-routewright.js";
import { SCHEMA_YML_SCHEMA } from "../generator/catalogue/settings/schema-yml.js";
import { TESTS_SCHEMA } from "../generator/commands/test/cases.js";
import { CHANGE_KINDS } from "../generator/diff/change-kinds.js";
import { acceptSchemaOf } from "../generator/report/accept-file.js";
import { MISMATCH_RULES } from "../generator/verify/checks.js";
import { CONFIG_SCHEMA } from "../generator/config-schema.js";
import { USAGE_SCHEMA } from "../generator/diff/usage.js";
import { BASELINE_SCHEMA } from "../generator/lint/baseline.js";
import { HINT, NOUN, withoutOwnKeywords } from "../generator/manifest/schema-errors.js";
import { noteBundle, noteCopy, writeNotice } from "./notice.js";
import { removeStale } from "./stale.js";

const inRoot = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));
const GENERATOR = inRoot("generator/dist");
const ASSETS = inRoot("runtime/dist/assets");
const REEXPORT = inRoot("runtime/dist/ramp");

for (const folder of [`${GENERATOR}/chunks`, `${GENERATOR}/templates`, `${GENERATOR}/validators`, ASSETS])
  rmSync(folder, { recursive: true, force: true });
removeStale(inRoot("generator"), GENERATOR, ["render-worker.js", "render-worker.js.map"]);
rmSync(REEXPORT, { recursive: true, force: true });
removeStale(inRoot("runtime"), inRoot("runtime/dist"), []);
removeStale(inRoot("runtime/ramp"), inRoot("runtime/ramp/dist"), []);
reexportRamp();
await bundleCommandLine();
copyTemplates();
copyRedoc();
copySwaggerUi();
await bundleMcpServer();
await bundlePages();
writeNotice(`${ASSETS}/NOTICE.txt`);
// Last: `scripts/ready.js` takes their time for that of the build.
compileValidators();

/** `@routewright/runtime/ramp`, as it was before the ramp was a package. The compiler cannot write it: the ramp imports the runtime. */
function reexportRamp(): void {
  mkdirSync(REEXPORT);
  for (const file of ["index.js", "index.d.ts"])
    writeFileSync(`${REEXPORT}/${file}`, 'export * from "@routewright/ramp";\n');
}

/** Loading some sixty small modules would take as long as rendering a catalogue. */
async function bundleCommandLine(): Promise<void> {
  await build({
    entryPoints: ["cli.ts", "watch/render-worker.ts"].map((file) => inRoot(`generator/${file}`)),
    outdir: GENERATOR,
    entryNames: "[name]",
    chunkNames: "chunks/[name]-[hash]",
    bundle: true,
    // A command's code is a file of its own, loaded when the command is called.
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    sourcemap: true,
    packages: "external",
    // What the generator shares with the runtime is small and holds no state.
    alias: { "@routewright/runtime/model": inRoot("runtime/generator-api.ts") },
    logLevel: "warning",
  });
}

/**
 * Compiles JSON Schemas into plain code, exported by the package as `routewright/validators/*`: of `meta.api`,
 * `meta.routewright`, `catalogue.json`, the accept file, the baseline, a usage file and the config file. Editors read the last
 * one's schema itself, and that of `schema.yml`.
 */
function compileValidators(): void {
  mkdirSync(`${GENERATOR}/validators`, { recursive: true });
  const everyError = { allErrors: true, verbose: true, code: { source: true } } as const;
  const ofSettings = () => new Ajv({ ...everyError, allowUnionTypes: true, keywords: [HINT, NOUN] });
  const validators = [
    ["meta-api", ofSettings(), META_API_SCHEMA],
    ["meta-routewright", ofSettings(), META_ROUTEWRIGHT_SCHEMA.model],
    ["meta-routewright-of-column", ofSettings(), META_ROUTEWRIGHT_SCHEMA.column],
    [
      "accept-file",
      new Ajv({ ...everyError, allowUnionTypes: true, keywords: [HINT] }),
      acceptSchemaOf([...CHANGE_KINDS, ...MISMATCH_RULES]),
    ],
    ["baseline", new Ajv({ ...everyError, keywords: [HINT] }), BASELINE_SCHEMA],
    ["usage-file", new Ajv({ ...everyError, allErrors: false, allowUnionTypes: true }), USAGE_SCHEMA],
    ["endpoint-tests", new Ajv({ ...everyError, keywords: [HINT] }), TESTS_SCHEMA],
    ["catalogue", new Ajv({ allowUnionTypes: true, code: { source: true } }), CATALOGUE_SCHEMA],
    ["config", new Ajv({ ...everyError, allowUnionTypes: true, keywords: [HINT] }), CONFIG_SCHEMA],
  ] as const;
  for (const [name, ajv, schema] of validators)
    writeFileSync(`${GENERATOR}/validators/${name}.cjs`, standalone.default(ajv, ajv.compile(schema)));
  writeFileSync(`${GENERATOR}/schema-yml.schema.json`, `${JSON.stringify(SCHEMA_YML_SCHEMA, null, 2)}\n`);
  writeFileSync(
    `${GENERATOR}/config.schema.json`,
    `${JSON.stringify(withoutOwnKeywords(CONFIG_SCHEMA), null, 2)}\n`,
  );
}

function copyTemplates(): void {
  for (const name of ["ci", "docker", "provider"])
    cpSync(inRoot(`templates/${name}`), `${GENERATOR}/templates/${name}`, { recursive: true });
}

/**
 * `runtime/pages/redoc` has these files of the package `redoc` as they are: its script carries all that it needs, and the
 * package would install nearly a hundred others for nothing. Its side menu ends with a picture from its maker's host; pages of this
 * project load nothing from other hosts.
 */
function copyRedoc(): void {
  const redoc = inRoot("runtime/pages/redoc/redoc.standalone.js");
  const logo = "https://cdn.redoc.ly/redoc/logo-mini.svg";
  const emptyPicture = "data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22/%3E";
  const script = readFileSync(redoc, "utf8");
  if (!script.includes(logo)) throw new Error(`${redoc} no longer loads ${logo}: see what it loads instead.`);
  mkdirSync(ASSETS, { recursive: true });
  // Its source maps are not served, and the tools of browsers ask for what a script names.
  const own = script.replaceAll(logo, emptyPicture).replace(/\/\/# sourceMappingURL=[\w.]+\.map/g, "");
  writeFileSync(`${ASSETS}/redoc.js`, ownPropertiesOnly(own));
  cpSync(`${redoc}.LICENSE.txt`, `${ASSETS}/redoc.js.LICENSE.txt`);
  noteCopy(dirname(redoc), "redoc.js");
}

/**
 * Redoc finds a column `hasOwnProperty` or `constructor` in `Object.prototype`, calls it, and shows nothing but an error.
 * Its walk through a document reads own properties of its table of types, and no call goes to a property of the document.
 */
function ownPropertiesOnly(script: string): string {
  const lookUps = [
    ["l=i.properties[e];", "l=Object.hasOwn(i.properties,e)?i.properties[e]:void 0;"],
    ["l=n.properties[o];", "l=Object.hasOwn(n.properties,o)?n.properties[o]:void 0;"],
    ["let i=v[o],a=x;", "let i=Object.hasOwn(v,o)?v[o]:void 0,a=x;"],
  ] as const;
  for (const [inherited] of lookUps)
    if (script.split(inherited).length !== 2)
      throw new Error(`Redoc no longer has ${inherited} once: see how it reads the types of properties.`);
  return lookUps
    .reduce((text, [inherited, own]) => text.replace(inherited, own), script)
    .replace(/(?<![\w$.])([\w$]+(?:\.[\w$]+)*)\.hasOwnProperty\(/g, "Object.hasOwn($1,");
}

/** Copied: each release since 5.18 depends on `@scarf/scarf`, which reports every install to its maker. */
function copySwaggerUi(): void {
  const folder = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
  for (const file of ["swagger-ui-bundle.js", "swagger-ui-bundle.js.LICENSE.txt", "swagger-ui.css"])
    cpSync(`${folder}/${file}`, `${ASSETS}/${file}`);
  noteCopy(folder, "swagger-ui-bundle.js");
}

/** A bundle of the assets, whose makers the notice names. */
async function bundleAsset(options: BuildOptions): Promise<void> {
  const { metafile } = await build({ ...options, metafile: true, absWorkingDir: inRoot("") });
  noteBundle(metafile, inRoot(""));
}

/** Of the MCP SDK the server alone. Ajv is a dependency of the runtime already. */
async function bundleMcpServer(): Promise<void> {
  await bundleAsset({
    stdin: {
      contents: `
        export {
          createMcpHandler, isLegacyRequest, McpServer, WebStandardStreamableHTTPServerTransport,
        } from "@modelcontextprotocol/server";`,
      resolveDir: inRoot("."),
    },
    outfile: `${ASSETS}/mcp.js`,
    bundle: true,
    minify: true,
    format: "esm",
    platform: "node",
    target: "node20",
    external: ["ajv"],
    // ajv-formats, which is a CommonJS module, requires Ajv.
    banner: {
      js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
    },
    legalComments: "eof",
    logLevel: "warning",
  });
}

/** Zod says what is wrong in 50 languages, which are half of the script. */
function oneLanguage(): Plugin {
  return {
    name: "one language",
    setup(bundle) {
      bundle.onLoad({ filter: /zod\/v4\/locales\/index\.js$/ }, ({ path }) => ({
        contents: 'export { default as en } from "./en.js";',
        resolveDir: dirname(path),
      }));
    },
  };
}

/** Scripts and styles of the documents: nothing comes from another host. */
async function bundlePages(): Promise<void> {
  const scripts: BuildOptions = {
    outdir: ASSETS,
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: ["chrome111", "firefox115", "safari16.4"],
    // The terms of what they carry are in NOTICE.txt, which no browser needs.
    legalComments: "none",
    logLevel: "warning",
  };
  await bundleAsset({
    ...scripts,
    entryPoints: {
      explore: inRoot("runtime/pages/explorer/explorer-page.ts"),
      "explore-embed": inRoot("runtime/pages/explorer/embed-page.ts"),
    },
    // What is not needed at once, such as charts, is in files of its own.
    splitting: true,
    chunkNames: "explore-[name]-[hash]",
  });
  await bundleAsset({
    ...scripts,
    entryPoints: {
      reference: inRoot("runtime/pages/reference/reference-page.ts"),
      "reference-style": inRoot("runtime/pages/reference/reference.css"),
      frame: inRoot("runtime/pages/frame.css"),
      explore: inRoot("runtime/pages/explorer/explore.css"),
      guide: inRoot("runtime/pages/guide/guide-page.ts"),
      "guide-style": inRoot("runtime/pages/guide/guide.css"),
      status: inRoot("runtime/pages/status/status-page.ts"),
      "status-style": inRoot("runtime/pages/status/status.css"),
      "assistant-style": inRoot("runtime/pages/explorer/assistant.css"),
      "account-style": inRoot("runtime/pages/account/account.css"),
    },
  });
  // One script in the document of a view, which has no address.
  await bundleAsset({
    ...scripts,
    entryPoints: { assistant: inRoot("runtime/pages/explorer/assistant-page.ts") },
    format: "iife",
    define: { "import.meta.url": '"https://host.invalid/docs/assistant.js"' },
    plugins: [oneLanguage()],
  });
  // Not a module: it runs before the page is drawn.
  await bundleAsset({
    ...scripts,
    entryPoints: { theme: inRoot("runtime/pages/explorer/theme.ts") },
    format: "iife",
  });
}
