import { readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { ON_BOTH_ENGINES, ON_POSTGRES_ONLY } from "../support/on-both-engines.js";

it("every suite of requests and faults runs on both engines, or has a reason", () => {
  const folders = ["data-api", "hostile", "faults"];
  const suites = folders.flatMap((folder) =>
    readdirSync(`tests/${folder}`)
      .filter((file) => file.endsWith(".test.ts"))
      .map((file) => `tests/${folder}/${file}`),
  );
  const both = ON_BOTH_ENGINES.filter((file) => folders.includes(file.split("/")[1] ?? ""));
  expect([...both, ...Object.keys(ON_POSTGRES_ONLY)].sort()).toEqual(suites.sort());
});
