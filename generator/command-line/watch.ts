import type { Command } from "commander";
import type { Outcome } from "../commands/outcome.js";
import { manifestOption, withManifest } from "./manifest.js";
import type { Then } from "./then.js";

interface WatchFlags {
  readonly manifest?: string;
  readonly catalog?: string;
  readonly out: string;
  readonly interval?: string;
}

export function addWatch(command: Command, then: Then): void {
  command
    .description("regenerate whenever the manifest changes")
    .addOption(manifestOption())
    .option("--catalog <file or URL>", "dbt's catalog.json, for columns and types that no schema.yml lists")
    .option("--out <folder>", "the generated folder", "generated")
    .option(
      "--interval <seconds>",
      "how often to look (default: DBT_MANIFEST_REFRESH_INTERVAL_SECONDS or 300)",
    )
    .action((flags: WatchFlags) => then(startWatch(flags)));
}

function startWatch({ manifest: named, catalog, out, interval }: WatchFlags): Promise<Outcome> {
  const overridden = interval === undefined ? {} : { DBT_MANIFEST_REFRESH_INTERVAL_SECONDS: interval };
  return withManifest(named, { ...process.env, ...overridden }, async (manifest, environment) => {
    const { watch } = await import("../commands/watch.js");
    const { stopSignal } = await import("../commands/stop-signal.js");
    const { defaultTier, apiTitle: title, refreshIntervalSeconds: intervalSeconds } = environment;
    const tell = (text: string): void => void process.stdout.write(text);
    return watch({
      manifest,
      ...(catalog !== undefined && { catalog }),
      out,
      intervalSeconds,
      defaultTier,
      title,
      tell,
      until: stopSignal(),
    });
  });
}
