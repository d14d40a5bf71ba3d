/**
 * Compiles JSON Schemas into plain code (a step of `npm run build`): of `meta.api`, `catalogue.json` and the config file.
 * Editors read the last one's schema itself.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { Ajv } from "ajv";
import standalone from "ajv/dist/standalone/index.js";
import { CATALOGUE_SCHEMA } from "../../generator/catalogue/catalogue-schema.js";
import { META_API_SCHEMA } from "../../generator/catalogue/meta-api/schema.js";
import { CONFIG_SCHEMA } from "../../generator/config-schema.js";

/** Exported by the package as `routewright/validators/*`. */
const FOLDER = new URL("../../generator/dist/validators/", import.meta.url);
mkdirSync(FOLDER, { recursive: true });

compile("meta-api", new Ajv({ allErrors: true, verbose: true, code: { source: true } }), META_API_SCHEMA);
compile("catalogue", new Ajv({ allowUnionTypes: true, code: { source: true } }), CATALOGUE_SCHEMA);
compile("config", new Ajv({ allErrors: true, verbose: true, code: { source: true } }), CONFIG_SCHEMA);
writeFileSync(
  new URL("../../generator/dist/config.schema.json", import.meta.url),
  `${JSON.stringify(CONFIG_SCHEMA, null, 2)}\n`,
);

function compile(name: string, ajv: Ajv, schema: object): void {
  const code = standalone.default(ajv, ajv.compile(schema));
  writeFileSync(new URL(`${name}.cjs`, FOLDER), code);
}
