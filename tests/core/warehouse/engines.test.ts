import { existsSync, readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { ON_BOTH_ENGINES, ON_POSTGRES_ONLY } from "../../support/on-both-engines.js";

it("every suite of requests runs on both engines, or has a reason", () => {
  const folders = [
    ...["http", "request", "handler", "response"].map((name) => `core/${name}`),
    ...["system", "release"].map((name) => `server/${name}`),
  ];
  const suites = folders.flatMap((folder) =>
    readdirSync(`tests/${folder}`)
      .filter((file) => file.endsWith(".test.ts"))
      .map((file) => `tests/${folder}/${file}`),
  );
  const listed = [...ON_BOTH_ENGINES, ...Object.keys(ON_POSTGRES_ONLY)];
  expect(listed).toEqual(expect.arrayContaining(suites));
  expect(listed.filter((file) => !existsSync(file))).toEqual([]);
});
