import { isFetchable } from "@routewright/runtime/model";
import { fetchFile, NO_SECRETS, type SecretHeaders } from "./http.js";
import {
  connectionProblem,
  type Fetched,
  type FetchRequest,
  library,
  type ReadFrom,
  refusedAs,
} from "./store.js";

const STORAGE = "https://storage.googleapis.com";
const READ_ONLY = "https://www.googleapis.com/auth/devstorage.read_only";

/**
 * An object of Google Cloud Storage, by its JSON API. Google's own library finds the credentials: those of
 * `GOOGLE_APPLICATION_CREDENTIALS`, of `gcloud`, of the machine or pod. An object's version is its generation.
 */
export const readGcs: ReadFrom<"gcs"> = async ({ bucket, path }, request) => {
  const origin = endpoint();
  if (origin === null) return refusedAs(request, NO_ENDPOINT);
  const secrets = origin.isEmulator ? NO_SECRETS : await tokenFor(origin.url, request);
  if ("kind" in secrets) return secrets;
  const object = new URL(
    `/storage/v1/b/${encodeURIComponent(bucket)}/o/${encodeURIComponent(path)}`,
    origin.url,
  );
  const get = (query: string): Promise<Fetched> =>
    fetchFile(
      new URL(`?${query}`, object),
      [secrets],
      { ...request, known: null },
      meaningOf(bucket, request),
    );
  const described = await get("fields=generation");
  if (described.kind !== "content") return described;
  const etag = generationIn(described.bytes);
  if (etag !== null && etag === request.known?.etag) return { kind: "unmodified" };
  const fetched = await get("alt=media");
  // Where it has been replaced in between, the next poll reads it again.
  return fetched.kind === "content"
    ? { ...fetched, validators: etag === null ? null : { etag, lastModified: null } }
    : fetched;
};

/** Google's own address, or that of the variables of `gcloud` or an emulator; null: not an address, or one that must not get a token. */
function endpoint(): { readonly url: string; readonly isEmulator: boolean } | null {
  const emulator = process.env["STORAGE_EMULATOR_HOST"]?.trim() ?? "";
  if (emulator !== "") {
    const url = emulator.includes("://") ? emulator : `http://${emulator}`;
    return URL.canParse(url) ? { url, isEmulator: true } : null;
  }
  const url = process.env["CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE"]?.trim() || STORAGE;
  return isFetchable(url) ? { url, isEmulator: false } : null;
}

const NO_ENDPOINT =
  "STORAGE_EMULATOR_HOST or CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE is not an address, or not of https.";

function generationIn(bytes: Buffer): string | null {
  try {
    const { generation } = JSON.parse(bytes.toString("utf8")) as { readonly generation?: unknown };
    return typeof generation === "string" ? generation : null;
  } catch {
    return null;
  }
}

function meaningOf(bucket: string, request: FetchRequest): Parameters<typeof fetchFile>[3] {
  return async (status, body) => {
    if (status === 401) return refusedAs(request, REFUSED);
    if (status === 403) return refusedAs(request, NO_PERMISSION);
    const isWithoutBucket = status === 404 && /bucket does not exist/i.test(await body());
    return isWithoutBucket ? refusedAs(request, `there is no bucket ${bucket}.`) : null;
  };
}

/** The library waits for a machine's metadata server longer than the time limit. */
async function tokenFor(url: string, request: FetchRequest): Promise<SecretHeaders | Fetched> {
  const loaded = await library(() => import("google-auth-library"), request, "google-auth-library");
  if ("missing" in loaded) return loaded.missing;
  try {
    // A read needs no project; without one the library asks another service for it.
    const auth = new loaded.library.GoogleAuth({ scopes: READ_ONLY, projectId: "none" });
    const headers = await Promise.race([auth.getRequestHeaders(STORAGE), aborted(request.signal)]);
    return { headers: Object.fromEntries(headers), origins: [new URL(url).origin] };
  } catch (error) {
    return connectionProblem(error as Error, request) ?? refusedAs(request, credentialsText(error as Error));
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}

/** The library's own messages may quote what a token service has answered. */
function credentialsText({ message }: Error): string {
  if (/invalid_grant|expired|revoked/i.test(message)) return REFUSED;
  return /default credentials/i.test(message) ? NO_CREDENTIALS : BAD_CREDENTIALS;
}

const REFUSED =
  "the credentials are wrong, or have expired. Run `gcloud auth application-default login`, or renew them.";

const NO_CREDENTIALS =
  "no credentials were found. Set GOOGLE_APPLICATION_CREDENTIALS, run `gcloud auth application-default login`, or give the machine a service account.";

const BAD_CREDENTIALS =
  "the credentials that GOOGLE_APPLICATION_CREDENTIALS or `gcloud` names cannot be used.";

const NO_PERMISSION =
  "no permission to read it (`storage.objects.get`), or there is no such file: Google says which only with `storage.objects.list`.";
