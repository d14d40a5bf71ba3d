import { InvalidArgumentError } from "commander";
import { messageOf } from "@routewright/runtime/model";
import { catalogueOf } from "../catalogue/build.js";
import type { Settings } from "../config.js";
import { parseModels } from "../manifest/catalog.js";
import { redactedLocation } from "../manifest/source.js";
import { updateFolder } from "../output/folder.js";
import { render } from "../render/render.js";
import { reportText } from "../report/generate-report.js";
import { PolledSource, startPolling } from "../watch/poll.js";
import { type CliCommand, type CommandResult, EXIT, OPTIONS, stopSignal, withManifest } from "./command.js";

export interface WatchOptions
  extends Pick<Settings, "out" | "defaultTier">, Partial<Pick<Settings, "catalog" | "schemas">> {
  /** File or http(s) address of the manifest. */
  readonly manifest: string;
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
      "how often the manifest is polled; a file also when it changes (default: DBT_MANIFEST_REFRESH_INTERVAL_SECONDS or 300)",
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

/** `routewright watch`: regenerates whenever the manifest changes. An error leaves the folder as it is; a lasting one is printed once. */
export async function watch(options: WatchOptions): Promise<CommandResult> {
  const { manifest, intervalSeconds, print, stopped } = options;
  const watcher = new Watcher(options);
  let lastError: string | null = null;
  const poll = async (): Promise<void> => {
    const { report = null, error = null } = await watcher.poll();
    if (report !== null) print(report);
    if (error !== null && error !== lastError) print(error);
    lastError = error;
  };
  print(`Watching ${redactedLocation(manifest)}, every ${String(intervalSeconds)} s.\n`);
  const stopPolling = startPolling({ source: manifest, intervalSeconds, poll });
  await stopped;
  await stopPolling();
  return { exit: EXIT.ok };
}

/** What a poll has to print; nothing if the manifest has not changed. */
interface Outcome {
  /** What was written. */
  readonly report?: string;
  /** Why nothing was written. */
  readonly error?: string;
}

class Watcher {
  readonly #options: WatchOptions;
  readonly #source: PolledSource;
  /** Hash of the manifest that the folder was last brought up to date with. */
  #writtenHash: string | null = null;

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#source = new PolledSource(options.manifest);
  }

  /** Reads the manifest and, if it has changed, regenerates. After an error the next poll tries again. */
  async poll(): Promise<Outcome> {
    try {
      const polled = await this.#source.poll(this.#writtenHash);
      if (polled.kind === "unchanged") return {};
      if (polled.kind === "error") return failed(polled.detail);
      const outcome = await this.#write(polled.text, polled.location);
      if (outcome.report !== undefined) this.#writtenHash = polled.hash;
      return outcome;
    } catch (error) {
      return failed(messageOf(error));
    }
  }

  async #write(text: string, location: string): Promise<Outcome> {
    const { out, catalog, title } = this.#options;
    const reading = await parseModels(text, location, catalog);
    if (!reading.ok) return failed(reading.problem);
    const catalogue = catalogueOf(reading.manifest, this.#options);
    const update = updateFolder(render(catalogue, { title }), { out });
    if (!update.ok) return failed(...update.problems);
    const report = { out, check: false, warnings: reading.manifest.warnings, catalogue, drift: update.drift };
    return { report: reportText(report) };
  }
}

function failed(...problems: readonly string[]): Outcome {
  return { error: problems.map((problem) => `error: ${problem}\n`).join("") };
}
