import { TIERS } from "../model/tier.js";
import { Variables } from "../environment/variables.js";

/** Settings for reading a manifest. */
export type GenerationEnvironment = Readonly<ReturnType<typeof generationOf>>;

/** Reads only the variables of `generate`: invalid server settings must not fail a pipeline. */
export function readGenerationEnvironment(source: Readonly<Record<string, string | undefined>>) {
  const variables = new Variables(source);
  return { environment: generationOf(variables), problems: variables.problems as readonly string[] };
}

export function generationOf(variables: Variables) {
  return {
    /** File or address of the manifest; the file takes precedence. */
    manifest: artifactOf(variables, "DBT_MANIFEST"),
    /** Tier of an endpoint whose model names none. */
    defaultTier: variables.oneOf("DEFAULT_ENDPOINT_TIER", "tier0", TIERS),
    /** Null: the default title of the OpenAPI document. */
    apiTitle: variables.text("API_TITLE"),
    /** Whether `serve` polls the manifest without `--watch`. */
    refreshEnabled: variables.flag("DBT_MANIFEST_REFRESH_ENABLED", false),
    refreshIntervalSeconds: variables.whole("DBT_MANIFEST_REFRESH_INTERVAL_SECONDS", 300, {
      min: 1,
      max: 86_400,
    }),
  };
}

/** File or address of dbt's `run_results.json`; the file takes precedence. */
export function runResultsOf(variables: Variables): string | null {
  return artifactOf(variables, "DBT_RUN_RESULTS");
}

function artifactOf(variables: Variables, name: string): string | null {
  const address = variables.parsed(`${name}_URL`, null, "an http:// or https:// address", (text) =>
    /^https?:\/\//i.test(text) && URL.canParse(text) ? text : null,
  );
  return variables.text(`${name}_PATH`) ?? address;
}
