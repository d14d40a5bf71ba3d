/** generator/docs against the code, both ways. */
import { expect, it } from "vitest";
import { META_API_SCHEMA } from "../../generator/catalogue/settings/meta-api.js";
import { META_ROUTEWRIGHT_SCHEMA } from "../../generator/catalogue/settings/meta-routewright.js";
import { namesIn, pageText, rowsOf } from "../support/pages.js";
import { settingRows } from "../support/setting-rows.js";
import { ownFolder } from "../support/service.js";
import { routewright } from "./run.js";

const CONFIGURATION = "generator/docs/configuration.md";

it.each([
  ["generator/docs/meta-api.md", "meta.api", META_API_SCHEMA],
  ["generator/docs/meta-routewright.md", "Settings of a model", META_ROUTEWRIGHT_SCHEMA.model],
  ["generator/docs/meta-routewright.md", "Settings of a column", META_ROUTEWRIGHT_SCHEMA.column],
])("the table of %s, %s, is that of the settings' entries", (page, section, schema) => {
  expect(rowsOf(page, section)).toEqual(settingRows(schema));
});

it("the table of options lists every option of generate and watch, and no other", async () => {
  const listed = namesIn("generator/docs/commands.md", "Options").map((option) => option.split(" ")[0]);
  const help =
    (await routewright(ownFolder(), ["generate", "--help"])).out +
    (await routewright(ownFolder(), ["watch", "--help"])).out;
  const options = new Set([...help.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(([, option]) => option));
  for (const global of ["--help", "--version", "--quiet"]) options.delete(global);
  expect(listed.toSorted()).toEqual([...options].sort());
});

/** Values of keys that take no address. */
const VALUES_BY_KEY: Readonly<Record<string, string | boolean>> = {
  defaultTier: "tier2",
  "usage.shapes": true,
};

it("the table of the config file lists every key, with its variables, as the command has them", async () => {
  const folder = ownFolder();
  const settings = JSON.parse((await routewright(folder, ["config", "--json"])).out) as object;
  expect(rowsOf(CONFIGURATION, "Config file").map(([name]) => name)).toEqual(Object.keys(settings));
  const text = pageText(CONFIGURATION, "Config file");
  for (const [, key = "", names = ""] of text.matchAll(/^\| `([^`]+)`(?:[^|]*\|){3}([^|]*)\|/gm)) {
    for (const [, name = ""] of names.matchAll(/`(\w+)`/g)) {
      const value = VALUES_BY_KEY[key] ?? "https://example.org/x";
      const { out } = await routewright(folder, ["config", "--json"], { [name]: String(value) });
      expect(JSON.parse(out)).toMatchObject({ [key]: { value } });
    }
  }
});

it("the table of commands lists every command", async () => {
  const listed = new Set(namesIn("generator/docs/commands.md", "Commands").map((cell) => cell.split(" ")[0]));
  const { out } = await routewright(ownFolder(), ["--help"]);
  const commands = [...(out.split("Commands:\n")[1] ?? "").matchAll(/^ {2}(\w+)/gm)].map(
    ([, name = ""]) => name,
  );
  expect([...listed].sort()).toEqual(commands.filter((name) => name !== "help").sort());
});
