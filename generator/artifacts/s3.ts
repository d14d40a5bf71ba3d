import { Readable } from "node:stream";
import type { S3Client, S3ClientConfig } from "@aws-sdk/client-s3";
import {
  contentOf,
  type Fetched,
  type FetchRequest,
  failedFetch,
  library,
  libraryProblem,
  missingFile,
  type ReadFrom,
  refusedAs,
} from "./store.js";

/**
 * An object of S3, or of a store that speaks its protocol. AWS's own library finds credentials and endpoint: environment,
 * profile, role of the machine or pod. A client per read, so that what a rotation has changed is found.
 */
export const readS3: ReadFrom<"s3"> = async ({ bucket, path }, request) => {
  const loaded = await library(() => import("@aws-sdk/client-s3"), request, "@aws-sdk/client-s3");
  if ("missing" in loaded) return loaded.missing;
  const { S3Client, GetObjectCommand } = loaded.library;
  const { known, signal } = request;
  const client = await withRegion((config) => new S3Client(config));
  try {
    const command = new GetObjectCommand({
      Bucket: bucket,
      Key: path,
      ...(known?.etag && { IfNoneMatch: known.etag }),
    });
    const { Body, ETag = null } = await client.send(command, { abortSignal: signal });
    const body = Body instanceof Readable ? Body : Readable.from([]);
    signal.addEventListener("abort", () => body.destroy(new Error("time limit")), { once: true });
    return await contentOf(body, ETag === null ? null : { etag: ETag, lastModified: null }, request);
  } catch (error) {
    return problemOf(error as S3Error, bucket, request);
  } finally {
    client.destroy();
  }
};

/** Without any region AWS's library fails, also for stores that have none; a bucket elsewhere answers with its own. */
async function withRegion(open: (config: S3ClientConfig) => S3Client): Promise<S3Client> {
  const {
    AWS_REGION: region,
    AWS_DEFAULT_REGION: fallback,
    AWS_ENDPOINT_URL_S3: own,
    AWS_ENDPOINT_URL: all,
  } = process.env;
  const config: S3ClientConfig = {
    followRegionRedirects: true,
    // Other stores rarely have a host name per bucket.
    forcePathStyle: (own ?? all ?? "") !== "",
    // Checksums of other stores may be missing; TLS guards the way.
    responseChecksumValidation: "WHEN_REQUIRED",
    // AWS's command line reads it too.
    ...(!region && fallback && { region: fallback }),
  };
  const client = open(config);
  const hasRegion = await client.config.region().then(Boolean, () => false);
  if (hasRegion) return client;
  client.destroy();
  return open({ ...config, region: "us-east-1" });
}

interface S3Error extends Error {
  readonly $metadata?: { readonly httpStatusCode?: number };
}

function problemOf(error: S3Error, bucket: string, request: FetchRequest): Fetched {
  const status = error.$metadata?.httpStatusCode;
  const { name } = error;
  if (status === 304 && request.known !== null) return { kind: "unmodified" };
  if (name === "NoSuchBucket")
    return failedFetch(`Cannot read ${request.shown}: there is no bucket ${bucket}.`);
  if (status === 404) return missingFile(request);
  if (EXPIRED.test(name) || /expired/i.test(error.message)) return refusedAs(request, EXPIRED_CREDENTIALS);
  if (name === "CredentialsProviderError") return refusedAs(request, NO_CREDENTIALS);
  if (WRONG.has(name)) return refusedAs(request, `the credentials are wrong (${name}).`);
  if (status === 403) return refusedAs(request, NO_PERMISSION);
  return libraryProblem(error, status, request);
}

const EXPIRED = /^(ExpiredToken|TokenRefreshRequired|RequestExpired)/;

const WRONG: ReadonlySet<string> = new Set([
  "InvalidAccessKeyId",
  "SignatureDoesNotMatch",
  "InvalidToken",
  "InvalidClientTokenId",
  "UnrecognizedClientException",
]);

const EXPIRED_CREDENTIALS = "the credentials have expired: sign in again (`aws sso login`), or renew them.";

const NO_CREDENTIALS =
  "no credentials were found. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give the machine a role.";

const NO_PERMISSION =
  "no permission to read it (`s3:GetObject`), or there is no such file: S3 says which only with `s3:ListBucket`.";
