import { statSync } from "node:fs";
import type { Tier } from "@routewright/runtime/model";
import { readFolder } from "../../output/folder.js";
import { readManifest } from "../../manifest/manifest.js";
import { snapshotOfManifest } from "../snapshot.js";
import { readGenerated } from "./generated.js";
import { readRevision } from "./git.js";
import { failed, type SideReading } from "./reading.js";

export interface SideOptions {
  /** Tier of an endpoint whose model in a manifest has no tier tag. */
  readonly defaultTier: Tier;
  /** The generated folder that a `git:<ref>` means, relative to `cwd`. */
  readonly generated: string;
  readonly cwd: string;
}

/** What stands for one side on the command line. */
type Side =
  | { readonly kind: "manifest"; readonly location: string }
  | { readonly kind: "folder"; readonly path: string }
  | { readonly kind: "git"; readonly ref: string }
  | { readonly kind: "nothing" };

/** Reads a side: `git:<ref>`, a generated folder, or a manifest by its file or address. */
export async function readSide(argument: string, options: SideOptions): Promise<SideReading> {
  const side = sideOf(argument);
  switch (side.kind) {
    case "manifest":
      return readManifestSide(side.location, options);
    case "folder":
      return readGenerated(readFolder(side.path).files, side.path.replace(/(?<=.)[/\\]+$/, ""));
    case "git":
      return readGitSide(side.ref, options);
    case "nothing":
      return failed(
        `There is no ${argument}. Name dbt's manifest.json (a file or an address), a generated folder, or git:<ref>.`,
      );
  }
}

function sideOf(argument: string): Side {
  if (argument.startsWith("git:")) return { kind: "git", ref: argument.slice("git:".length) };
  if (/^https?:/i.test(argument)) return { kind: "manifest", location: argument };
  const found = statSync(argument, { throwIfNoEntry: false });
  if (found === undefined) return { kind: "nothing" };
  return found.isDirectory() ? { kind: "folder", path: argument } : { kind: "manifest", location: argument };
}

async function readManifestSide(location: string, { defaultTier }: SideOptions): Promise<SideReading> {
  const reading = await readManifest(location);
  if (!reading.ok) return failed(reading.problem);
  return { ok: true, snapshot: snapshotOfManifest(reading.manifest, { defaultTier }) };
}

function readGitSide(ref: string, { generated, cwd }: SideOptions): SideReading {
  if (ref === "") return failed("`git:` names no revision: write `git:main`, or a tag or commit.");
  const revision = readRevision({ ref, folder: generated, cwd });
  return revision.ok ? readGenerated(revision.files, `git:${ref}:${generated}`) : failed(revision.problem);
}
