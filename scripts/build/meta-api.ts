/** Compiles the schema of `meta.api` into plain code (a step of `npm run build`). */
import { writeFileSync } from "node:fs";
import { Ajv } from "ajv";
import standalone from "ajv/dist/standalone/index.js";
import { META_API_SCHEMA } from "../../generator/catalogue/meta-api/schema.js";

const ajv = new Ajv({ allErrors: true, verbose: true, code: { source: true } });
const code = standalone.default(ajv, ajv.compile(META_API_SCHEMA));
writeFileSync(new URL("../../generator/dist/meta-api-validator.cjs", import.meta.url), code);
