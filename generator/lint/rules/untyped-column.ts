import { list, sentence } from "../../report/sentence.js";
import type { Check } from "./check.js";

const HINT = sentence`Give \`data_type\` in the model's schema.yml, or pass --catalog with dbt's catalog.json.`;

/** Columns whose schema in OpenAPI allows anything. */
export const untypedColumn: Check = {
  find({ entry: { endpoint } }) {
    const untyped = endpoint.columns.filter(({ type }) => type === null).map(({ name }) => name);
    if (endpoint.columns.length === 0) {
      const message = sentence`The model lists no columns: OpenAPI describes rows of which nothing is known, and typed clients get no fields.`;
      return [{ path: "$.columns", message, hint: HINT }];
    }
    if (untyped.length === 0) return [];
    const message = sentence`Columns have no type: ${list(untyped)}. OpenAPI allows any value there, and typed clients get \`unknown\`.`;
    return [{ path: "$.columns", message, hint: HINT }];
  },
};
