import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import type { ValidateFunction } from "ajv";
import type { MetaApi } from "./schema.js";

/** Where the build puts the compiled schema: in the package's `dist/`, for the sources and the bundle alike. */
const VALIDATOR_FILE = import.meta.url.replace(/^(.*\/generator\/).*$/, "$1dist/meta-api-validator.cjs");

/**
 * The schema of `meta.api` as a function. It is compiled when Routewright is built, not when it runs: loading the
 * compiler takes longer than rendering a whole catalogue.
 */
export const validate = createRequire(import.meta.url)(
  fileURLToPath(VALIDATOR_FILE),
) as ValidateFunction<MetaApi>;
