import { InvalidArgumentError } from "commander";
import { messageOf } from "@routewright/runtime/model";
import {
  type ArtifactLocations,
  type ArtifactTexts,
  PolledArtifacts,
  watchedLocations,
} from "../artifacts/artifacts.js";
import { catalogueOf } from "../catalogue/build.js";
import type { Settings } from "../config.js";
import { parseModels } from "../manifest/catalog.js";
import { redactedLocation } from "../artifacts/source.js";
import { updateFolder } from "../output/folder.js";
import { readKept } from "../output/keeping.js";
import { renderBytes } from "../render/render.js";
import { reportText } from "./generate-report.js";
import { startPolling } from "../watch/poll.js";
import {
  type CliCommand,
  type CommandResult,
  EXIT,
  OPTIONS,
  stopSignal,
  versionOf,
  withManifest,
} from "./command.js";

export interface WatchOptions
  extends
    ArtifactLocations,
    Pick<Settings, "out" | "defaultTier">,
    Partial<Pick<Settings, "about" | "schemas" | "engine" | "publicMaxAge" | "plans" | "publish">> {
  readonly intervalSeconds: number;
  /** Title of the OpenAPI document; null for its own. */
  readonly title: string | null;
  /** Prints a message. */
  readonly print: (text: string) => void;
  /** Resolves when it is time to stop. */
  readonly stopped: Promise<void>;
}

type Flags = Partial<Pick<WatchOptions, "manifest" | "catalog" | "out">> & { readonly interval?: number };

export function configure(command: CliCommand): void {
  command
    .addOption(OPTIONS.manifest())
    .addOption(OPTIONS.catalog())
    .addOption(OPTIONS.out())
    .option(
      "--interval <seconds>",
      "how often manifest and catalog are polled; a file also when it changes (default: DBT_MANIFEST_REFRESH_INTERVAL_SECONDS or 300)",
      parseSeconds,
    )
    .runs((flags: Flags) =>
      withManifest(flags, (settings) =>
        watch({
          ...settings,
          intervalSeconds: flags.interval ?? settings.refreshIntervalSeconds,
          title: settings.apiTitle,
          print: (text) => void process.stdout.write(text),
          stopped: stopSignal(),
        }),
      ),
    )
    .helpEnd(["watch", "watch --manifest https://example.org/manifest.json --interval 60"], {
      0: "stopped by a signal",
    });
}

function parseSeconds(text: string): number {
  const number = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (number >= 1 && number <= 86_400) return number;
  throw new InvalidArgumentError("It must be a whole number from 1 to 86400.");
}

/** `routewright watch`: regenerates whenever the manifest or dbt's catalog changes. An error leaves the folder as it is; a lasting one is printed once. */
export async function watch(options: WatchOptions): Promise<CommandResult> {
  const { manifest, intervalSeconds, print, stopped } = options;
  const artifacts = new PolledArtifacts(options);
  /** Hash of the manifest and dbt's catalog that the folder was last brought up to date with: after an error the next poll tries again. */
  let written: string | null = null;
  let lastError = "";
  const update = async (): Promise<readonly string[]> => {
    const polled = await artifacts.poll(written);
    if (polled.kind === "unchanged") return [];
    if (polled.kind === "error") return [polled.detail];
    const problems = regenerate(polled, options);
    if (problems.length === 0) written = polled.hash;
    return problems;
  };
  const poll = async (): Promise<void> => {
    const problems = await update().catch((error: unknown) => [messageOf(error)]);
    const error = problems.map((problem) => `error: ${problem}\n`).join("");
    if (error !== "" && error !== lastError) print(error);
    lastError = error;
  };
  print(`Watching ${redactedLocation(manifest)}, every ${String(intervalSeconds)} s.\n`);
  const polling = startPolling({ sources: watchedLocations(options), intervalSeconds, poll });
  await stopped;
  await polling.stop();
  return { exit: EXIT.ok };
}

/** Writes the folder and prints what was written; returns why nothing was. */
function regenerate(texts: ArtifactTexts, options: WatchOptions): readonly string[] {
  const { out, title, about, print } = options;
  const reading = parseModels(texts, options.publish);
  if (!reading.ok) return reading.problems;
  const { found, ...keeping } = readKept(out, versionOf());
  const catalogue = catalogueOf(reading.value, { ...options, known: keeping.kept });
  const update = updateFolder(renderBytes(catalogue, { title, about, ...keeping }), { out, found });
  if (!update.ok) return update.problems;
  const { warnings } = reading.value;
  print(reportText({ out, check: false, warnings, catalogue, drift: update.value }));
  return [];
}
