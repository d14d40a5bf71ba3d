/** Compiles JSON Schemas into plain code (a step of `npm run build`): of `meta.api` and of `catalogue.json`. */
import { writeFileSync } from "node:fs";
import { Ajv } from "ajv";
import standalone from "ajv/dist/standalone/index.js";
import { CATALOGUE_SCHEMA } from "../../generator/catalogue/catalogue-schema.js";
import { META_API_SCHEMA } from "../../generator/catalogue/meta-api/schema.js";

compile(
  "meta-api-validator",
  new Ajv({ allErrors: true, verbose: true, code: { source: true } }),
  META_API_SCHEMA,
);
compile("catalogue-validator", new Ajv({ allowUnionTypes: true, code: { source: true } }), CATALOGUE_SCHEMA);

function compile(name: string, ajv: Ajv, schema: object): void {
  const code = standalone.default(ajv, ajv.compile(schema));
  writeFileSync(new URL(`../../generator/dist/${name}.cjs`, import.meta.url), code);
}
