import { chmod, cp, mkdtemp, readdir, readFile, readlink, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { type Binaries, findBinaries, runnable } from "../../../runtime/postgres/embedded/binaries.js";

/** Generous: a tree is 60 MB, and machines are slow when they run everything at once. */

const isRoot = process.geteuid?.() === 0;

let folder: string;
let installed: Binaries;
/** As `npm ci --ignore-scripts` leaves it, without links; one test after the other changes it. */
let tree: Binaries;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "embedded-binaries-"));
  await chmod(folder, 0o755);
  installed = await findBinaries(folder);
  tree = { ...installed, directory: join(folder, "package", "native") };
  await cp(installed.directory, tree.directory, {
    recursive: true,
    filter: async (path) => !(await isLink(path)),
  });
});

afterAll(() => rm(folder, { recursive: true, force: true }));

const isLink = (path: string) =>
  readlink(path).then(
    () => true,
    () => false,
  );

async function links(tree: Binaries): Promise<string[]> {
  const names = await readdir(join(tree.directory, "lib"));
  const linked = await Promise.all(
    names.map(async (name) => ((await isLink(join(tree.directory, "lib", name))) ? [name] : [])),
  );
  return linked.flat().sort();
}

async function wantedLinks(): Promise<string[]> {
  const list = JSON.parse(await readFile(join(installed.directory, "pg-symlinks.json"), "utf8")) as {
    target: string;
  }[];
  return list.map(({ target }) => target.replace("native/lib/", "")).sort();
}

describe("PostgreSQL's programs", () => {
  it("get the library links that an install without scripts skips, also when two processes create them", async () => {
    expect(await links(tree)).toEqual([]);
    const made = await Promise.all([runnable(tree, folder), runnable(tree, folder)]);
    expect(made).toEqual([tree, tree]);
    expect(await links(tree)).toEqual(await wantedLinks());
  });

  it.runIf(isRoot)("are copied when root's unprivileged account has no access to them", async () => {
    await chmod(join(folder, "package"), 0o700);
    const copies = await Promise.all([runnable(tree, folder), runnable(tree, folder)]);
    expect(copies[0].directory).toMatch(new RegExp(`^${folder}/routewright-postgres-`));
    expect(copies[1]).toEqual(copies[0]);
    expect(await runnable(tree, folder)).toEqual(copies[0]);
    expect((await readdir(folder)).filter((name) => name.includes(".new-"))).toEqual([]);
  });
});
