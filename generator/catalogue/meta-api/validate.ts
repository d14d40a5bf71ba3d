import { createRequire } from "node:module";
import type { ValidateFunction } from "ajv";
import type { MetaApi } from "./schema.js";

/**
 * The schema of `meta.api` as a function. It is compiled when Routewright is built, not when it runs: loading the
 * compiler takes longer than rendering a whole catalogue.
 */
export const validate = createRequire(import.meta.url)(
  "routewright/validators/meta-api.cjs",
) as ValidateFunction<MetaApi>;
