/** Compiles JSON Schemas into plain code (a step of `npm run build`): of `meta.api` and of `catalogue.json`. */
import { mkdirSync, writeFileSync } from "node:fs";
import { Ajv } from "ajv";
import standalone from "ajv/dist/standalone/index.js";
import { CATALOGUE_SCHEMA } from "../../generator/catalogue/catalogue-schema.js";
import { META_API_SCHEMA } from "../../generator/catalogue/meta-api/schema.js";

/** Exported by the package as `routewright/validators/*`. */
const FOLDER = new URL("../../generator/dist/validators/", import.meta.url);
mkdirSync(FOLDER, { recursive: true });

compile("meta-api", new Ajv({ allErrors: true, verbose: true, code: { source: true } }), META_API_SCHEMA);
compile("catalogue", new Ajv({ allowUnionTypes: true, code: { source: true } }), CATALOGUE_SCHEMA);

function compile(name: string, ajv: Ajv, schema: object): void {
  const code = standalone.default(ajv, ajv.compile(schema));
  writeFileSync(new URL(`${name}.cjs`, FOLDER), code);
}
