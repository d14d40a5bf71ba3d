import { Option } from "commander";
import { catalogueOf } from "../catalogue/build.js";
import { type ExposureOptions, exposuresOf } from "../catalogue/exposures.js";
import type { Settings } from "../config.js";
import { readModels } from "../manifest/catalog.js";
import { visible } from "../manifest/strings.js";
import { type CliCommand, type CommandResult, EXIT, failure, OPTIONS, withManifest } from "./command.js";

interface Flags {
  readonly manifest?: string;
  readonly per: ExposureOptions["per"];
  readonly url?: string;
  readonly owner?: string;
}

export function configure(command: CliCommand): void {
  command
    .addOption(OPTIONS.manifest())
    .addOption(
      new Option("--per <what>", "one exposure for the API, or one per endpoint")
        .choices(["api", "endpoint"])
        .default("api"),
    )
    .option("--url <address>", "address of the API (default: PUBLIC_URL)")
    .option("--owner <name or e-mail>", "who answers for the API, and for endpoints without an owner")
    .runs((flags: Flags) => withManifest(flags, (settings) => exposures(flags, settings)))
    .helpEnd([
      "exposures --owner data@example.org > models/exposures.yml",
      "exposures --per endpoint --url https://api.example.org",
    ]);
}

/** `routewright exposures`: prints dbt's `exposures:` of the API. */
async function exposures(
  { per, url, owner }: Flags,
  settings: Settings & { readonly manifest: string },
): Promise<CommandResult> {
  const address = (url ?? settings.variables["PUBLIC_URL"] ?? "").trim();
  if (address !== "" && !/^https?:\/\/[^/]/i.test(address))
    return failure(
      `${url === undefined ? "PUBLIC_URL" : "--url"} is not an address: write https://api.example.org.`,
    );
  const reading = await readModels(settings);
  if (!reading.ok) return failure(...reading.problems);
  const catalogue = catalogueOf(reading.value, settings);
  const made = exposuresOf(reading.value, catalogue, {
    per,
    title: settings.apiTitle ?? "Data API",
    url: address === "" ? null : address.replace(/\/+$/, ""),
    owner: owner?.trim() || null,
  });
  if (!made.ok) return failure(...made.problems);
  return {
    exit: EXIT.ok,
    output: made.value.yaml,
    notes: made.value.notes.map((note) => `note: ${visible(note)}`),
  };
}
