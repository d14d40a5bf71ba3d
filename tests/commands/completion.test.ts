import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { needs } from "../support/needs.js";
import { ownFolder } from "../support/service.js";
import { routewright } from "./run.js";

const folder = ownFolder();

function script(shell: string): string {
  const file = join(folder, `routewright.${shell}`);
  const { exit, out, err } = routewright(folder, ["completion", shell]);
  expect({ exit, err }).toEqual({ exit: 0, err: "" });
  writeFileSync(file, out);
  return file;
}

/** What bash offers for the last of these words. */
function offeredByBash(file: string, ...words: readonly string[]): string[] {
  const program = `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _routewright; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const out = execFileSync("bash", ["-c", program, "bash", file, ...words], { encoding: "utf8" });
  return out.split("\n").filter((line) => line !== "");
}

describe("routewright completion bash", () => {
  const file = script("bash");

  it.each([
    [["routewright", "ge"], ["generate"]],
    [["routewright", "keys", ""], expect.arrayContaining(["create", "list", "revoke", "help"])],
    [["routewright", "generate", "--man"], ["--manifest"]],
    [["routewright", "generate", "--manifest", "x.json", "--st"], ["--strict"]],
    [
      ["routewright", "diff", "a", "b", "--format", ""],
      ["text", "markdown", "json", "github"],
    ],
    [
      ["routewright", "keys", "create", "--tier", "tier"],
      ["tier0", "tier1", "tier2", "tier3"],
    ],
    [["routewright", "ramp", "project", "cr"], ["create"]],
    [["routewright", "lint", "--q"], ["--quiet"]],
  ])("%s", (words, offered) => {
    expect(offeredByBash(file, ...words)).toEqual(offered);
  });
});

it.skipIf(!needs("zsh"))("routewright completion zsh is a script that zsh takes, and registers", () => {
  const program = "source $1; print -r -- $_comps[routewright]";
  const out = execFileSync("zsh", ["-f", "-c", program, "zsh", script("zsh")], { encoding: "utf8" });
  expect(out).toContain("_routewright");
});

describe.skipIf(!needs("fish"))("routewright completion fish", () => {
  it.each([
    ["routewright ge", ["generate"]],
    ["routewright keys re", ["revoke"]],
    ["routewright diff a b --format m", ["markdown"]],
    ["routewright generate --man", ["--manifest"]],
  ])("%s", (line, offered) => {
    const program = `source ${script("fish")}; complete -C '${line}'`;
    const out = execFileSync("fish", ["--no-config", "-c", program], {
      encoding: "utf8",
      env: { ...process.env, HOME: folder },
    });
    expect(
      out
        .trim()
        .split("\n")
        .map((offer) => offer.split("\t")[0]),
    ).toEqual(offered);
  });
});

it("names the shells that there are", () => {
  expect(routewright(folder, ["completion", "csh"]).err).toContain("Allowed choices are bash, zsh, fish");
});
