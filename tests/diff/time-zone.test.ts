import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { routewrightProcess as routewright } from "../commands/run.js";
import { ownFolder } from "../support/service.js";
import { field, manifestWith } from "./feature-model.js";

it("a report is the same in every time zone, with sunsets that name none", () => {
  const folder = ownFolder();
  const write = (file: string, date: string): void =>
    writeFileSync(join(folder, file), JSON.stringify(manifestWith(field({ deprecation_date: date }))));
  write("base.json", "2100-03-01T00:30:00");
  write("head.json", "2100-02-28T23:30:00");
  const reports = ["UTC", "Asia/Tokyo", "America/New_York", "Pacific/Kiritimati"].map((TZ) =>
    routewright(folder, ["diff", "base.json", "head.json", "--format", "json", "--fail-on", "none"], { TZ }),
  );
  expect(new Set(reports.map(({ out }) => out)).size).toBe(1);
  expect(reports[0]?.out).toContain("sunset-brought-forward");
  expect(reports[0]?.out).toContain("2100-03-01T00:30:00Z");
});
