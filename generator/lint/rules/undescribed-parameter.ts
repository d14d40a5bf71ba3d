import { sentence } from "../../report/sentence.js";
import type { Check } from "./check.js";

/** A parameter of which the documentation shows the name alone. */
export const undescribedParameter: Check = {
  find({ entry: { endpoint, documentation }, apiPath }) {
    return endpoint.parameters.flatMap(({ name, column }, i) => {
      if (documentation.parameters.has(name)) return [];
      return [
        {
          path: `${apiPath}.parameters[${String(i)}]`,
          message: sentence`The parameter ${name} has no description: callers see its name and type, and must guess what values of ${column} look like.`,
          hint: sentence`Add a \`description\` with an example value.`,
        },
      ];
    });
  },
};
