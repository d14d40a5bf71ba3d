import {
  type ArtifactKind,
  artifactAt,
  artifactIn,
  isFetchable,
  storeAddress,
} from "../model/store-address.js";
import { TIERS } from "../model/tier.js";
import { Variables } from "./variables.js";

/** Settings for reading a manifest. */
export type GenerationEnvironment = Readonly<ReturnType<typeof generationOf>>;

/** Reads only the variables of `generate`: invalid server settings must not fail a pipeline. */
export function readGenerationEnvironment(source: Readonly<Record<string, string | undefined>>) {
  const variables = new Variables(source);
  return { environment: generationOf(variables), problems: variables.problems as readonly string[] };
}

export function generationOf(variables: Variables) {
  const artifacts = variables.parsed("DBT_ARTIFACTS_URL", null, `a folder, or ${ADDRESS}`, (text) =>
    storeAddress(artifactIn(text, "manifest")) === null ? null : text,
  );
  return {
    /** Folder or address of all of dbt's files; those that a variable of their own names are not read there. */
    artifacts,
    /** File or address of the manifest; the file takes precedence. */
    manifest: artifactOf(variables, "manifest", artifacts),
    /** Of dbt's `catalog.json`. */
    catalog: artifactOf(variables, "catalog", artifacts),
    /** Of dbt's `run_results.json`; null: build times are unknown. */
    runResults: artifactOf(variables, "runResults", artifacts),
    /** Of dbt's `sources.json`: how old the rows of sources are. */
    sources: artifactOf(variables, "sources", artifacts),
    /** Of dbt's `freshness.json`, which has models too. */
    freshness: artifactOf(variables, "freshness", artifacts),
    /** Header for http(s) addresses of dbt's files. */
    artifactsHeader: variables.parsed(
      "DBT_ARTIFACTS_HEADER",
      null,
      "a header, as in `Name: value`",
      headerOf,
    ),
    /** Where dbt Cloud's API is, and the token for it. */
    dbtCloud: {
      host: variables.parsed(
        "DBT_CLOUD_HOST",
        "https://cloud.getdbt.com",
        "a host name, or an https:// address",
        hostOf,
      ),
      token: variables.parsed("DBT_CLOUD_API_TOKEN", null, "a token, without spaces or line ends", (text) =>
        /^[\x21-\x7e]+$/.test(text) ? text : null,
      ),
    },
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

const ADDRESS = "an https://, s3://, gs://, az://, abfss:// or dbt-cloud:// address";

const VARIABLE: Readonly<Record<ArtifactKind, string>> = {
  manifest: "DBT_MANIFEST",
  catalog: "DBT_CATALOG",
  runResults: "DBT_RUN_RESULTS",
  sources: "DBT_SOURCES",
  freshness: "DBT_FRESHNESS",
};

function artifactOf(variables: Variables, kind: ArtifactKind, artifacts: string | null): string | null {
  const name = VARIABLE[kind];
  const address = variables.parsed(`${name}_URL`, null, ADDRESS, (text) => {
    const store = storeAddress(artifactAt(text, kind))?.store ?? "local";
    return store === "local" ? null : text;
  });
  const own = variables.text(`${name}_PATH`) ?? address;
  if (own !== null) return artifactAt(own, kind);
  return artifacts === null ? null : artifactIn(artifacts, kind);
}

/** A field of HTTP (RFC 9110 §5). */
function headerOf(text: string): { readonly name: string; readonly value: string } | null {
  const [, name = "", value = ""] =
    /^([\w!#$%&'*+.^`|~-]+):[ \t]*([\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)$/.exec(text) ?? [];
  return name === "" ? null : { name, value };
}

/** The origin of a host name or of an address. */
function hostOf(text: string): string | null {
  const address = text.includes("://") ? text : `https://${text}`;
  if (!isFetchable(address)) return null;
  const { origin, username, password, pathname, search } = new URL(address);
  return username + password + search === "" && pathname === "/" ? origin : null;
}
