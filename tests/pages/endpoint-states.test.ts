import { expect, it } from "vitest";
import type { CatalogueEndpoint } from "../../runtime/pages/catalogue-body.js";
import { statesOf } from "../../runtime/pages/endpoint-states.js";

const [past, now, later] = ["2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z", "2026-03-03T00:00:00Z"];

it.each([
  ["late where no build is known", null, null, "late", "no build is known"],
  ["late once its time is over", past, past, "late", "promised 26 hours"],
  ["nearly late from the warning on", later, past, "nearly late", "promised 26 hours"],
  ["nearly late where only a warning is promised", null, past, "nearly late", "promised 26 hours"],
  ["fresh until the warning", null, later, "fresh", "26 hours"],
  ["fresh until its time is over", later, null, "fresh", "26 hours"],
])("an endpoint that promises freshness is %s", (_, due, warn_at, name, text) => {
  const freshness = { promise: "26 hours", due, warn_at };
  const endpoint = { callable: true, deprecation_date: null, freshness } as unknown as CatalogueEndpoint;
  const [state] = statesOf(endpoint, Date.parse(now));
  expect(state).toMatchObject({ name, text });
});
