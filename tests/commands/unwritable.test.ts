import { chmodSync, chownSync, cpSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { filesIn } from "../support/files.js";
import { manifestOf } from "../support/manifest.js";
import { ownFolder } from "../support/service.js";
import { GENERATE, GOOD, project, routewrightProcess as routewright } from "./run.js";

/** Root may read and write anything: then the command runs as a user who may not. */
const OTHER_USER = 65_534;
const uid = process.getuid?.() === 0 ? OTHER_USER : undefined;

it("a manifest that may not be read is refused", () => {
  const folder = project(GOOD);
  chmodSync(folder, 0o755);
  chmodSync(join(folder, "manifest.json"), 0);
  expect(routewright(folder, GENERATE, {}, uid)).toEqual({
    exit: 2,
    out: "",
    err: "error: Cannot read manifest.json: no permission to read it.\n",
  });
});

describe("a folder that cannot be written", () => {
  it("that is a file, or in one, is refused", () => {
    const folder = project(GOOD);
    writeFileSync(join(folder, "file"), "mine");
    for (const out of ["file", "file/below"]) {
      expect(routewright(folder, [...GENERATE, "--out", out])).toEqual({
        exit: 2,
        out: "",
        err: expect.stringMatching(
          `^error: Cannot write the folder ${out}: (EEXIST|ENOTDIR): .*\\. Nothing was changed\\.\n$`,
        ),
      });
    }
    expect(filesIn(folder)).toMatchObject({ file: "mine" });
  });

  it("because something else is in the way is left as it is, and each such file is named", () => {
    const folder = project(GOOD);
    const outside = ownFolder();
    mkdirSync(join(folder, "generated/routes"), { recursive: true });
    symlinkSync(outside, join(folder, "generated/routes/bridges"));
    writeFileSync(join(folder, "generated/index.ts"), "mine");
    const { exit, out, err } = routewright(folder, GENERATE);
    expect({ exit, out }).toEqual({ exit: 2, out: "" });
    expect(err.match(/^error: generated\/\S+/gm)).toEqual([
      "error: generated/index.ts",
      "error: generated/routes/bridges/volume.ts",
    ]);
    expect(filesIn(join(folder, "generated"))).toEqual({ "index.ts": "mine" });
    expect(filesIn(outside)).toEqual({});
  });

  it("without permission keeps its old tree", () => {
    const folder = project(GOOD, { ...GOOD, name: "gone", tags: ["production", "c", "api:gone"] });
    routewright(folder, GENERATE);
    const old = filesIn(join(folder, "generated"));
    writeFileSync(
      join(folder, "manifest.json"),
      JSON.stringify(manifestOf([{ ...GOOD, description: "New." }])),
    );
    if (uid !== undefined) chownSync(folder, uid, uid);
    for (const readOnly of ["generated/routes/bridges", "generated/routes/c", "generated"]) {
      const copy = join(folder, `copy-of-${readOnly.replaceAll("/", "-")}`);
      cpSync(join(folder, "generated"), join(copy, "generated"), { recursive: true });
      if (uid !== undefined)
        for (const one of [
          "",
          "generated",
          "generated/routes",
          "generated/routes/bridges",
          "generated/routes/c",
        ])
          chownSync(join(copy, one), uid, uid);
      chmodSync(join(copy, readOnly), 0o555);
      const run = routewright(copy, ["generate", "--manifest", "../manifest.json"], {}, uid);
      chmodSync(join(copy, readOnly), 0o755);
      expect(run).toEqual({
        exit: 2,
        out: "",
        err: expect.stringMatching(
          /^error: Cannot write the folder generated: EACCES: permission denied, .*\. Nothing was changed\.\n$/,
        ),
      });
      expect(filesIn(join(copy, "generated"))).toEqual(old);
    }
  });
});

it("a folder that --check may not read is said to be unreadable", () => {
  const folder = project(GOOD);
  chmodSync(folder, 0o755);
  routewright(folder, GENERATE);
  chmodSync(join(folder, "generated"), 0);
  const { exit, err } = routewright(folder, [...GENERATE, "--check"], {}, uid);
  chmodSync(join(folder, "generated"), 0o755);
  expect({ exit, err }).toEqual({
    exit: 2,
    err: expect.stringMatching(
      /^error: Cannot read the folder generated: EACCES: permission denied, .*\. Nothing was changed\.\n$/,
    ),
  });
});
