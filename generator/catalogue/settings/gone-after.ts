import { described, text } from "@routewright/runtime/model";
import { HINT, NOUN } from "../../manifest/schema-errors.js";
import { timestampOf } from "../../manifest/model.js";
import { formatValue } from "../../manifest/strings.js";
import { secondsOf } from "./freshness.js";
import { invalid, reading, type Setting } from "./setting.js";

const EXAMPLE = "Write minutes, hours or days, at most 366 days: `gone_after: 30d`.";

/** How long after its `deprecation_date` an endpoint still answers, in seconds. A folder may set it: it counts where there is such a date. */
export const goneAfter: Setting<string, number | undefined, unknown> = {
  schema: {
    ...described("how long after its `deprecation_date` the endpoint answers 410, such as `30d`", text),
    [NOUN]: "a length of time",
    [HINT]: EXAMPLE,
  },
  read: (value) => {
    const seconds = value === undefined ? undefined : secondsOf(value);
    const isWrong = value !== undefined && seconds === undefined;
    return reading(
      isWrong ? invalid("gone_after", `${formatValue(value)} is not a length of time.`, EXAMPLE) : [],
      () => seconds,
    );
  },
};

/** When the endpoint begins to answer 410; nothing where it never does. */
export function goneAtOf(deprecationDate: string | null, after: number | undefined): { goneAt?: string } {
  if (deprecationDate === null || after === undefined) return {};
  const goneAt = timestampOf(new Date(Date.parse(deprecationDate) + after * 1000).toISOString());
  return goneAt === null ? {} : { goneAt };
}
