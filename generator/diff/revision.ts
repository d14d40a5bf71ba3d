import { spawnSync } from "node:child_process";
import { existsSync, realpathSync, statSync } from "node:fs";
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import { failed, type Outcome, type Plans, succeeded, type Tier } from "@routewright/runtime/model";
import { catalogueOf, type SchemaMap } from "../catalogue/build.js";
import type { MaxAge } from "../catalogue/settings/max-age.js";
import { readCatalogue } from "../catalogue/catalogue-file.js";
import { readLineage } from "../catalogue/lineage-file.js";
import type { Catalogue } from "../catalogue/catalogue.js";
import { readModels } from "../manifest/catalog.js";
import type { PublishRules } from "../manifest/publish-rules.js";
import type { ServedEngine } from "../catalogue/types/type-in-copy.js";
import { isAddress, readSource } from "../artifacts/source.js";
import type { ArtifactAccess } from "../artifacts/store.js";

/** How the arguments of `diff` are read. */
export interface RevisionOptions {
  /** dbt's catalog.json, for a revision that is a manifest. */
  readonly catalog?: string | undefined;
  /** The folder or address that the settings name for all of dbt's files. */
  readonly artifacts?: string | null;
  readonly access?: ArtifactAccess;
  /** Tier of an endpoint whose model in a manifest has no tier tag. */
  readonly defaultTier: Tier;
  /** The schemas that serve in place of a manifest's. */
  readonly schemas?: SchemaMap;
  readonly engine?: ServedEngine | undefined;
  readonly publicMaxAge?: MaxAge;
  readonly plans?: Plans;
  /** The models of a manifest that count as tagged. */
  readonly publish?: PublishRules;
  /** The generated folder that a `git:<ref>` means, relative to `cwd`. */
  readonly generated: string;
  readonly cwd: string;
}

/** One of the two catalogues of a comparison, with the warnings of its manifest. */
export interface Revision {
  readonly catalogue: Catalogue;
  readonly warnings: readonly string[];
}

/** `isMissing`: the revision is not there, as in the first run in a repository, which has no base yet. */
export type RevisionReading = Outcome<Revision> & { readonly isMissing?: true };

function missing(problem: string): RevisionReading {
  return { ...failed(problem), isMissing: true };
}

/** Reads a revision: `git:<ref>`, a generated folder, or a manifest by its file or address. */
export async function readRevision(argument: string, options: RevisionOptions): Promise<RevisionReading> {
  if (argument.startsWith("git:")) return readFromGit(argument.slice("git:".length), options);
  const found = isAddress(argument) || !existsSync(argument) ? undefined : statSync(argument);
  if (found?.isDirectory()) return readFolder(argument);
  if (found !== undefined || isAddress(argument)) return readFromManifest(argument, options);
  return missing(
    argument === options.generated
      ? `No folder ${argument}: run \`routewright generate\`, or name another catalogue: dbt's manifest.json, a generated folder, or git:<ref>.`
      : `No file or folder ${argument}: name dbt's manifest.json (a file or an address), a generated folder, or git:<ref>.`,
  );
}

const CATALOGUE_FILE = "catalogue.json";
const LINEAGE_FILE = "lineage.json";

async function readFolder(folder: string): Promise<RevisionReading> {
  const file = join(folder, CATALOGUE_FILE);
  if (!existsSync(file))
    return missing(`${folder} is not a generated folder: it has no ${CATALOGUE_FILE}. ${REGENERATE}`);
  const source = await readSource(file);
  if (!source.ok) return source;
  const lineage = await readSource(join(folder, LINEAGE_FILE));
  return readText(source.value.text, file, lineage.ok ? lineage.value.text : "");
}

const REGENERATE = "Run `routewright generate` on that revision.";

function readText(text: string, location: string, lineageText: string): RevisionReading {
  const reading = readCatalogue(text, location);
  if (!reading.ok) return reading;
  return succeeded({ catalogue: { ...reading.value, lineage: readLineage(lineageText) }, warnings: [] });
}

async function readFromManifest(location: string, options: RevisionOptions): Promise<RevisionReading> {
  const reading = await readModels({ ...options, manifest: location });
  if (!reading.ok) return reading;
  const manifest = reading.value;
  return succeeded({ catalogue: catalogueOf(manifest, options), warnings: manifest.warnings });
}

/** `catalogue.json` as a commit has it, straight from git's objects: neither work tree nor index is read or written. */
function readFromGit(ref: string, { generated, cwd }: RevisionOptions): RevisionReading {
  if (ref === "") return failed("`git:` names no revision: write `git:main`, or a tag or commit.");
  const top = git(cwd, ["rev-parse", "--show-toplevel"]);
  if (!top.ok)
    return failed(`git:${ref} needs a git repository in the current folder: ${top.problems.join(" ")}`);
  const path = pathInRepository(top.value.trimEnd(), generated, cwd);
  if (path === undefined)
    return failed(`The folder ${generated} lies outside of the git repository; name one in it.`);
  const commit = git(cwd, ["rev-parse", "--verify", "--quiet", "--end-of-options", `${ref}^{commit}`]);
  if (!commit.ok) return missing(`There is no commit ${ref}. ${FETCH}`);
  const file = `${commit.value.trimEnd()}:${path === "" ? "" : `${path}/`}${CATALOGUE_FILE}`;
  const blob = git(cwd, ["rev-parse", "--verify", "--quiet", file]);
  if (!blob.ok)
    return missing(
      `git:${ref} has no ${generated}/${CATALOGUE_FILE}. Name the generated folder with --generated; ${GENERATE_THERE}`,
    );
  const text = git(cwd, ["cat-file", "blob", blob.value.trimEnd()]);
  const lineage = git(cwd, ["cat-file", "blob", file.replace(/[^/:]+$/, LINEAGE_FILE)]);
  return text.ok
    ? readText(text.value, `git:${ref}:${generated}/${CATALOGUE_FILE}`, lineage.ok ? lineage.value : "")
    : failed(`git:${ref} lacks ${generated}/${CATALOGUE_FILE}. ${FETCH}`);
}

const GENERATE_THERE =
  "an earlier Routewright wrote none: run `routewright generate` there and commit the folder.";

/** The usual reason in a pipeline, where a checkout has one commit only. */
const FETCH =
  "If it is on the server only, fetch it first: `git fetch origin <branch>`, or a checkout with its history.";

/** With `/` whatever the system; undefined outside of the repository. The folder itself need not exist any more. */
function pathInRepository(top: string, folder: string, cwd: string): string | undefined {
  const path = relative(realpathSync(top), resolve(realpathSync(cwd), folder));
  const isOutside = path === ".." || path.startsWith(`..${sep}`) || isAbsolute(path);
  return isOutside ? undefined : path.split(sep).join("/");
}

/** A catalogue of thousands of endpoints takes some 10 MB. */
const MAX_OUTPUT_BYTES = 500 * 1024 * 1024;

function git(cwd: string, args: readonly string[]): Outcome<string> {
  const { error, status, stdout, stderr } = spawnSync("git", args, {
    cwd,
    encoding: "utf8",
    maxBuffer: MAX_OUTPUT_BYTES,
    env: { ...process.env, LC_ALL: "C", GIT_OPTIONAL_LOCKS: "0" },
  });
  if (error !== undefined)
    return failed(
      (error as NodeJS.ErrnoException).code === "ENOENT" ? "git is not installed." : error.message,
    );
  return status === 0 ? succeeded(stdout) : failed(stderr.trim().split("\n")[0] ?? "");
}
