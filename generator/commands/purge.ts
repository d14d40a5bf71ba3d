import { readCatalogueIn } from "../catalogue/catalogue-file.js";
import type { Settings } from "../config.js";
import { redactedLocation } from "../artifacts/source.js";
import { type CliCommand, type CommandResult, EXIT, failure, OPTIONS, withSettings } from "./command.js";
import { type PublicEndpoint, purgeCopies, type SharedCache } from "./shared-cache.js";

interface Flags {
  readonly generated?: string;
}

export function configure(command: CliCommand): void {
  command
    .argument(
      "[models...]",
      "names of models, also of those that are not public any more (default: all public)",
    )
    .addOption(OPTIONS.generated())
    .runs((models: readonly string[], flags: Flags) =>
      withSettings(flags, (settings) => purge(models, settings)),
    )
    .helpEnd(["purge", "purge orders_daily"], {
      0: "the cache has no copies of these rows any more",
      2: "the cache could not be asked; the message says why",
    });
}

/** `routewright purge`: removes the copies of public rows from the shared cache in front of the server. */
async function purge(models: readonly string[], settings: Settings): Promise<CommandResult> {
  const cache = sharedCacheOf(settings, settings.variables["PURGE_TOKEN"]?.trim() || null);
  if (cache === null) return failure(NO_CACHE);
  const reading = readCatalogueIn(settings.out);
  if (reading === null)
    return failure(`${settings.out} has no catalogue.json: run \`routewright generate\`.`);
  if (!reading.ok) return failure(...reading.problems);
  const { entries } = reading.value;
  const unknown = models.filter((name) => !entries.some(({ model }) => model === name));
  if (unknown.length > 0)
    return failure(`${settings.out} has no endpoint of ${unknown.join(", ")}: name models of the API.`);
  const chosen = entries.filter(({ model, publicAge }) =>
    models.length > 0 ? models.includes(model) : publicAge !== undefined,
  );
  const problems = await purgeCopies(cache, chosen);
  if (problems.length > 0)
    return failure(
      ...problems.slice(0, MAX_SHOWN).map(({ request, reason }) => `${redactedRequest(request)}: ${reason}.`),
    );
  return { exit: EXIT.ok, isStatus: true, output: `${doneText(chosen)}\n` };
}

const MAX_SHOWN = 10;

const NO_CACHE =
  "No shared cache is configured: set `purgeUrl`, and `purgeMethod` where it is not PURGE, in the config file.";

/** The shared cache that the config file names; null where it names none. */
export function sharedCacheOf(
  { purgeUrl, purgeMethod }: Pick<Settings, "purgeUrl" | "purgeMethod">,
  token: string | null,
): SharedCache | null {
  return purgeUrl === undefined ? null : { purgeUrl, purgeMethod, token };
}

/** The address may hold a password. */
export function redactedRequest(request: string): string {
  const [method = "", url = ""] = request.split(" ");
  return `${method} ${redactedLocation(url)}`;
}

function doneText(endpoints: readonly PublicEndpoint[]): string {
  return endpoints.length === 0
    ? "Nothing to purge: no endpoint is public with a `max_age`."
    : `Purged the copies of ${String(endpoints.length)} endpoint${endpoints.length === 1 ? "" : "s"}.`;
}
