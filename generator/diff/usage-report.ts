import type { ChangeUsage } from "./change.js";
import { SHAPE_OUTCOMES } from "./hits.js";
import type { JudgedShape } from "./recorded-shapes.js";
import type { ShapesVerdict } from "./usage.js";
import { joined, list, plain, sentence, type Sentence } from "../manifest/strings.js";
import { counted, type Item, OPEN_ITEMS, type Section } from "../report/report.js";

/** Keys, organizations and parameters that a line names; JSON has all. */
const MAX_USERS = 5;

/** Who a breaking change hits. */
export function usageText(usage: ChangeUsage): Sentence {
  const { state, keys, organizations, requests, parameters, recordedDays, shapes = [], rest = 0 } = usage;
  const days = String(usage.days);
  if (state === "unused")
    return plain(
      usage.shapes === undefined
        ? `Hits nobody: no such request in the last ${days} days.`
        : `Hits nobody: it breaks no recorded shape of the last ${days} days.`,
    );
  if (state === "unknown")
    return plain(
      `Hits nobody as far as is known: usage was recorded on ${String(recordedDays)} of the last ${days} days${rest > 0 ? `, and ${counted(rest, "request")} have no shape` : ""}.`,
    );
  const names = Object.entries(parameters).map(([name, count]) => `${name} (${String(count)})`);
  const what = `Hits ${counted(requests, "request")} in the last ${days} days: `;
  return joined(
    joined(plain(what), callersText(keys, organizations)),
    ...(names.length === 0 ? [] : [plain("; parameters used at the path: "), some(names)]),
    ...(shapes.length === 0
      ? []
      : [plain("; shapes: "), some(shapes.map(({ shape, requests: n }) => `${shape} (${String(n)})`))]),
    plain("."),
  );
}

function some(names: readonly string[]): Sentence {
  const more = names.length - MAX_USERS;
  const shown = sentence`${list(names.slice(0, MAX_USERS))}`;
  return more > 0 ? joined(shown, plain(` and ${String(more)} more`)) : shown;
}

/** Shapes that break, and those whose answers may differ. JSON has the others, too. */
export function requestsSection({ shapes }: ShapesVerdict): Section {
  const items = shapes.filter(({ outcome }) => outcome !== "unaffected").map(shapeItem);
  return { heading: "Recorded requests", items, open: OPEN_ITEMS };
}

function shapeItem(judged: JudgedShape): Item {
  const { route, shape, outcome, changes, requests, keys, organizations, lastSeen } = judged;
  return {
    level: "notice",
    label: outcome,
    id: "shape",
    title: outcome === "broken" ? "Requests break" : "Answers may differ",
    endpoints: [route],
    difference: sentence`${shape}`,
    location: [],
    file: null,
    details: [
      joined(
        plain(`${counted(requests, "request")} of `),
        callersText(keys, organizations),
        sentence`, the last at ${lastSeen}.`,
      ),
      joined(plain("By "), some(changes), plain(".")),
    ],
  };
}

/** How many shapes break, may be answered otherwise and are unaffected. */
export function shapesText({ shapes, rest, days, recordedDays }: ShapesVerdict): string {
  const counts = SHAPE_OUTCOMES.map((outcome) => {
    const own = shapes.filter((one) => one.outcome === outcome);
    const requests = own.reduce((sum, one) => sum + one.requests, 0);
    return `${String(own.length)} ${outcome} (${counted(requests, "request")})`;
  });
  return `Recorded shapes of the last ${String(days)} days, of which ${String(recordedDays)} were recorded: ${counts.join(", ")}; ${counted(rest, "request")} without a shape.`;
}

function callersText(keys: readonly string[], organizations: readonly string[]): Sentence {
  return joined(
    joined(plain(`${counted(keys.length, "key")} (`), some(keys), plain(")")),
    ...(organizations.length === 0
      ? []
      : [plain(` of ${counted(organizations.length, "organization")} (`), some(organizations), plain(")")]),
  );
}
