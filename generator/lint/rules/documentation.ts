import { isZoneless, parseColumnType } from "../../catalogue/column-types/column-type.js";
import { isPlainText } from "../../catalogue/meta-api/rules.js";
import { objectOr } from "../../manifest/json.js";
import { list, plain, sentence } from "../../manifest/strings.js";
import type { Check } from "../finding.js";
import type { Meta } from "../project.js";

/** A key of `meta.api` or `meta.routewright` that nothing reads. */
export const unknownKey: Check = {
  find({ warnings }) {
    return warnings
      .filter(({ isUnknownKey }) => isUnknownKey)
      .map(({ path, message, hint }) => ({
        path,
        message: sentence`${message}`,
        hint: sentence`${hint}`,
      }));
  },
};

/** A parameter without a description. */
export const undescribedParameter: Check = {
  find({ entry: { endpoint, documentation }, apiPath }) {
    return endpoint.parameters.flatMap(({ name, column }, i) => {
      if (documentation.parameters.has(name)) return [];
      return [
        {
          path: `${apiPath}.parameters[${String(i)}]`,
          message: sentence`The parameter ${name} has no description: callers see its name and type, and must guess what values of ${column} look like.`,
          hint: plain("Add a `description` with an example value."),
        },
      ];
    });
  },
};

const TYPE_HINT = plain(
  "Give `data_type` in the model's schema.yml, or pass --catalog with dbt's catalog.json.",
);

/** Columns whose schema in OpenAPI allows any value. */
export const untypedColumn: Check = {
  find({ entry: { endpoint } }) {
    const untyped = endpoint.columns.filter(({ type }) => type === null).map(({ name }) => name);
    if (endpoint.columns.length === 0) {
      const message = plain(
        "The model declares no columns: all columns of the relation are served, and typed clients get no fields.",
      );
      return [{ path: "$.columns", message, hint: TYPE_HINT }];
    }
    if (untyped.length === 0) return [];
    const message = sentence`Columns have no type: ${list(untyped)}. OpenAPI allows any value there, and typed clients get \`unknown\`.`;
    return [{ path: "$.columns", message, hint: TYPE_HINT }];
  },
};

/** A date filter on a text column, which compares texts: `2026-1-5` sorts behind `2026-01-31`. */
export const textDateFilter: Check = {
  find({ entry: { endpoint }, apiPath }) {
    return endpoint.parameters.flatMap(({ name, column, type }, i) => {
      const stored = endpoint.columns.find((each) => each.name === column)?.type ?? null;
      if (type !== "date" || stored === null || !isPlainText(parseColumnType(stored))) return [];
      return [
        {
          path: `${apiPath}.parameters[${String(i)}].column`,
          message: sentence`The parameter ${name} compares dates with the text in ${column}: only texts that are ISO dates compare as dates.`,
          hint: plain("Make the column a date in the model's SQL, and declare it so."),
        },
      ];
    });
  },
};

/** A PostgreSQL timestamp without a time zone, where the project does not name the zone. */
export const zonelessTimestamp: Check = {
  find({ entry: { endpoint }, node }) {
    if (node.metas.some(namesTimezone)) return [];
    const zoneless = endpoint.columns
      .filter(({ type }) => isZoneless(type))
      .filter(({ name }) => !node.columns.get(name)?.metas.some(namesTimezone))
      .map(({ name }) => name);
    if (zoneless.length === 0) return [];
    return [
      {
        path: "$.columns",
        message: sentence`Timestamps without a time zone are served as UTC: ${list(zoneless)}. If they are local times, every value is wrong by the offset.`,
        hint: plain(
          'Store them as `timestamptz`, or name their zone: `meta: {routewright: {timezone: "UTC"}}` on the column or the model.',
        ),
      },
    ];
  },
};

function namesTimezone({ value }: Meta): boolean {
  return typeof objectOr(value["routewright"])["timezone"] === "string";
}
