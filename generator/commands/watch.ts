import { InvalidArgumentError } from "commander";
import type { Tier } from "@routewright/runtime/model";
import { catalogueOf } from "../catalogue/build.js";
import { parseModels } from "../manifest/catalog.js";
import { redactedLocation } from "../manifest/source.js";
import { updateFolder } from "../output/update.js";
import { type RenderCache, renderCached } from "../render/render.js";
import { reportText } from "../report/generate-report.js";
import { PolledSource, startPolling } from "../watch/poll.js";
import { type CliCommand, type CommandResult, EXIT, OPTIONS, stopSignal, withManifest } from "./command.js";

export interface WatchOptions {
  /** File or http(s) address of the manifest. */
  readonly manifest: string;
  /** Of dbt's catalog.json. */
  readonly catalog?: string | undefined;
  readonly out: string;
  readonly intervalSeconds: number;
  readonly defaultTier: Tier;
  /** Title of the OpenAPI document; null for its own. */
  readonly title: string | null;
  /** Prints a message. */
  readonly print: (text: string) => void;
  /** Resolves when it is time to stop. */
  readonly until: Promise<void>;
}

interface Flags {
  readonly manifest?: string;
  readonly catalog?: string;
  readonly out?: string;
  readonly interval?: number;
}

export function configureWatch(command: CliCommand): void {
  command
    .addOption(OPTIONS.manifest())
    .addOption(OPTIONS.catalog())
    .addOption(OPTIONS.out())
    .option(
      "--interval <seconds>",
      "how often an address is read (default: DBT_MANIFEST_REFRESH_INTERVAL_SECONDS or 300)",
      seconds,
    )
    .runs((flags: Flags) =>
      withManifest(flags, (settings) =>
        watch({
          ...settings,
          intervalSeconds: flags.interval ?? settings.refreshIntervalSeconds,
          title: settings.apiTitle,
          print: (text) => void process.stdout.write(text),
          until: stopSignal(),
        }),
      ),
    )
    .helpEnd(["watch", "watch --manifest https://example.org/manifest.json --interval 60"], {
      0: "stopped by a signal",
    });
}

function seconds(text: string): number {
  const number = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (number >= 1 && number <= 86_400) return number;
  throw new InvalidArgumentError("It must be a whole number from 1 to 86400.");
}

/** `routewright watch`: regenerates whenever the manifest changes. A problem changes nothing, and is printed once. */
export async function watch(options: WatchOptions): Promise<CommandResult> {
  const { manifest, intervalSeconds, print, until } = options;
  const watcher = new Watcher(options);
  let printed = "";
  const poll = async (): Promise<void> => {
    const message = await watcher.poll();
    if (message !== null && message !== printed) print(message);
    printed = message ?? printed;
  };
  print(`Watching ${redactedLocation(manifest)}, every ${String(intervalSeconds)} s.\n`);
  const stopPolling = startPolling({ source: manifest, intervalSeconds, poll });
  await until;
  await stopPolling();
  return { exit: EXIT.ok };
}

class Watcher {
  readonly #options: WatchOptions;
  readonly #source: PolledSource;
  /** Hash of the manifest that the folder was last brought up to date with. */
  #written: string | null = null;
  #rendered: RenderCache = new Map();

  constructor(options: WatchOptions) {
    this.#options = options;
    this.#source = new PolledSource(options.manifest);
  }

  /** Reads the manifest if it has changed and regenerates; the message to print, or null. */
  async poll(): Promise<string | null> {
    try {
      const polled = await this.#source.poll(this.#written);
      if (polled.kind === "unchanged") return null;
      if (polled.kind === "error") return errorLine(polled.detail);
      const { isWritten, message } = await this.#write(polled.text, polled.location);
      if (isWritten) this.#written = polled.hash;
      return message;
    } catch (error) {
      // The folder is as it was; the next poll tries again.
      return errorLine(error instanceof Error ? error.message : String(error));
    }
  }

  async #write(text: string, location: string): Promise<{ isWritten: boolean; message: string }> {
    const { out, catalog, defaultTier, title } = this.#options;
    const failed = (...problems: readonly string[]) => ({
      isWritten: false,
      message: problems.map(errorLine).join(""),
    });
    const reading = await parseModels(text, location, catalog);
    if (!reading.ok) return failed(reading.problem);
    const catalogue = catalogueOf(reading.manifest, { defaultTier });
    const { files, cache } = renderCached(catalogue, { title, cache: this.#rendered });
    this.#rendered = cache;
    const update = updateFolder(files, { out });
    if (!update.ok) return failed(...update.problems);
    const report = { out, check: false, warnings: reading.manifest.warnings, catalogue, drift: update.drift };
    return { isWritten: true, message: reportText(report) };
  }
}

function errorLine(problem: string): string {
  return `error: ${problem}\n`;
}
