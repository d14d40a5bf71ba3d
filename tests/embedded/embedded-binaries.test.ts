import { chmod, cp, mkdir, mkdtemp, readFile, readdir, readlink, rm, stat, unlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";

import {
  type Binaries,
  findBinaries,
  program,
  runnableBinaries,
  serverAccount,
} from "../../runtime/embedded/binaries.js";

/** Generous: a tree is 60 MB, and machines are slow when they run everything at once. */
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 });

const isRoot = process.geteuid?.() === 0;

let folder: string;
let installed: Binaries;
/** As `npm ci --ignore-scripts` leaves it, without links; one test after the other changes it. */
let tree: Binaries;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "embedded-binaries-"));
  await chmod(folder, 0o755);
  installed = await findBinaries();
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
    const made = await Promise.all([
      runnableBinaries(tree, undefined, []),
      runnableBinaries(tree, undefined, []),
    ]);
    expect(made).toEqual([tree, tree]);
    expect(await links(tree)).toEqual(await wantedLinks());
  });

  it("get the execute permission that an unpacked archive may lack", async () => {
    await chmod(program(tree, "initdb"), 0o644);
    await runnableBinaries(tree, undefined, []);
    expect((await stat(program(tree, "initdb"))).mode & 0o111).toBe(0o111);
  });

  it.skipIf(isRoot)("are copied when the tree lacks links and is read-only", async () => {
    const lib = join(tree.directory, "lib");
    for (const name of await links(tree)) await unlink(join(lib, name));
    await chmod(lib, 0o555);
    const copy = await runnableBinaries(tree, undefined, [join(folder, "missing"), folder]);
    await chmod(lib, 0o755);
    expect(copy.directory).toMatch(new RegExp(`^${folder}/routewright-postgres-`));
    expect(await links(copy)).toEqual(await wantedLinks());
  });

  it.runIf(isRoot)("are copied when their account has no access", async () => {
    await chmod(join(folder, "package"), 0o700);
    const account = await serverAccount(folder);
    const copies = await Promise.all([
      runnableBinaries(tree, account, [folder]),
      runnableBinaries(tree, account, [folder]),
    ]);
    expect(copies[0].directory).toMatch(new RegExp(`^${folder}/routewright-postgres-`));
    expect(copies[1]).toEqual(copies[0]);
    expect(await runnableBinaries(tree, account, [folder])).toEqual(copies[0]);
    expect((await readdir(folder)).filter((name) => name.includes(".new-"))).toEqual([]);
  });

  it.runIf(isRoot)("are not run from a copy of another user", async () => {
    await chmod(join(folder, "package"), 0o700);
    const place = join(folder, "place");
    const name = `routewright-postgres-${tree.version}-${process.platform}-${process.arch}`;
    await mkdir(join(place, name), { recursive: true });
    await chmod(join(place, name), 0o777);
    const refused = runnableBinaries(tree, await serverAccount(folder), [place]);
    await expect(refused).rejects.toThrow(/exists, but was not created by this account.*set DATABASE_URL\.$/);
  });

  it("that run nowhere are named with the reason", async () => {
    await rm(program(tree, "postgres"));
    const refused = runnableBinaries(tree, undefined, [folder]);
    await expect(refused).rejects.toThrow(/do not run: .*postgres.*set DATABASE_URL\.$/);
  });
});
