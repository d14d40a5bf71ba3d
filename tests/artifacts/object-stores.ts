import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PutObjectCommand, S3Client, DeleteObjectCommand, CreateBucketCommand } from "@aws-sdk/client-s3";
import { AccountSASPermissions, BlobServiceClient } from "@azure/storage-blob";
import { NO_ACCESS } from "../../generator/artifacts/source.js";
import { atEnd } from "../support/at-end.js";
import { programPath } from "../support/needs.js";
import { freePort, listen } from "../support/port.js";
import { ownFolder } from "../support/service.js";
import { gateTo } from "./gate.js";
import { putFile, type TestStore, type Variables } from "./store.js";

/** Starts a server that ends with the test, and waits until it answers. */
async function started(
  program: string,
  args: readonly string[],
  url: string,
  variables: Variables = {},
): Promise<void> {
  const child = spawn(program, args, { env: { ...process.env, ...variables }, stdio: "ignore" });
  atEnd(() => void child.kill("SIGKILL"));
  for (let tries = 0; tries < 600; tries++) {
    // Google's emulator closes each connection.
    const answers = await fetch(url, { headers: { connection: "close" } }).then(
      () => true,
      () => false,
    );
    if (answers) return;
    if (child.exitCode !== null) throw new Error(`${program} ended.`);
    await sleep(100);
  }
  throw new Error(`${program} does not answer.`);
}

const BUCKET = "dbt-artifacts";

/** moto, which checks keys and signatures from the first read on. */
export async function moto(): Promise<TestStore> {
  const port = String(await freePort());
  const direct = `http://127.0.0.1:${port}`;
  await started(programPath("moto_server"), ["-H", "127.0.0.1", "-p", port], `${direct}/moto-api/`);
  const iam = async (parameters: Readonly<Record<string, string>>): Promise<string> => {
    const body = new URLSearchParams({ ...parameters, UserName: "reader", Version: "2010-05-08" });
    const authorization =
      "AWS4-HMAC-SHA256 Credential=any/20260101/us-east-1/iam/aws4_request, SignedHeaders=host, Signature=none";
    const response = await fetch(direct, { method: "POST", body, headers: { authorization } });
    return response.text();
  };
  await iam({ Action: "CreateUser" });
  const created = await iam({ Action: "CreateAccessKey" });
  const [key, secret] = ["AccessKeyId", "SecretAccessKey"].map(
    (name) => new RegExp(`<${name}>(.+?)<`).exec(created)?.[1] ?? "",
  );
  const allow = { Version: "2012-10-17", Statement: [{ Effect: "Allow", Action: "*", Resource: "*" }] };
  await iam({ Action: "PutUserPolicy", PolicyName: "all", PolicyDocument: JSON.stringify(allow) });
  await fetch(`${direct}/moto-api/reset-auth`, { method: "POST", body: "0" });
  const gate = await gateTo(direct);
  const credentials = { accessKeyId: key ?? "", secretAccessKey: secret ?? "" };
  const writer = new S3Client({ endpoint: direct, region: "us-east-1", forcePathStyle: true, credentials });
  atEnd(() => writer.destroy());
  await writer.send(new CreateBucketCommand({ Bucket: BUCKET }));
  const variables = {
    AWS_ENDPOINT_URL_S3: gate.url,
    AWS_ACCESS_KEY_ID: key ?? "",
    AWS_SECRET_ACCESS_KEY: secret ?? "",
  };
  // moto's own temporary credentials never expire.
  gate.answer((request, response) => {
    if (request.headers["x-amz-security-token"] !== "expired-session") return false;
    const code = "<Code>ExpiredToken</Code><Message>The provided token has expired.</Message>";
    response
      .writeHead(400, { "content-type": "application/xml" })
      .end(`<?xml version="1.0"?><Error>${code}</Error>`);
    return true;
  });
  return {
    folder: `s3://${BUCKET}/target`,
    elsewhere: "s3://no-such-bucket/manifest.json",
    put: (name, Body, ContentEncoding) =>
      writer.send(new PutObjectCommand({ Bucket: BUCKET, Key: `target/${name}`, Body, ContentEncoding })),
    remove: (name) => writer.send(new DeleteObjectCommand({ Bucket: BUCKET, Key: `target/${name}` })),
    gate,
    variables,
    access: NO_ACCESS,
    refused: [
      { why: "wrong", variables: { ...variables, AWS_SECRET_ACCESS_KEY: "wrong-secret" } },
      { why: "wrong", variables: { ...variables, AWS_ACCESS_KEY_ID: "AKIAWRONGKEY" } },
      { why: "expired", variables: { ...variables, AWS_SESSION_TOKEN: "expired-session" } },
    ],
    secrets: [key ?? "", secret ?? "", "wrong-secret", "AKIAWRONGKEY", "expired-session"],
    isConditional: true,
  };
}

/** Google's emulator, behind what gives tokens for a pod's identity and checks them: the emulator knows no credentials. */
export async function gcsEmulator(): Promise<TestStore> {
  const port = String(await freePort());
  const direct = `http://127.0.0.1:${port}`;
  const args = [
    "start",
    "--port",
    port,
    "--host",
    "127.0.0.1",
    "--in-memory",
    "--default-bucket",
    BUCKET,
    "--quiet",
  ];
  await started(programPath("gcp-storage-emulator"), args, direct);
  const gate = await gateTo(direct);
  const token = `ya29.${randomUUID()}`;
  gate.answer((request, response) => {
    if (request.headers.authorization === `Bearer ${token}`) return false;
    response.writeHead(401).end(JSON.stringify({ error: { code: 401, message: "Invalid Credentials" } }));
    return true;
  });
  const tokens = createServer((request, response) => {
    void request.toArray().then((body) => {
      const subject = new URLSearchParams(Buffer.concat(body as Buffer[]).toString()).get("subject_token");
      const refused = { error: "invalid_grant", error_description: `${subject ?? ""} has expired` };
      const given = {
        access_token: subject === "pod-token" ? token : "ya29.wrong-token",
        issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
        token_type: "Bearer",
        expires_in: 3600,
      };
      const isExpired = subject === "expired-subject";
      response
        .writeHead(isExpired ? 400 : 200, { "content-type": "application/json" })
        .end(JSON.stringify(isExpired ? refused : given));
    });
  });
  const exchange = await listen(tokens);
  const identity = (subject: string): Variables => {
    const folder = ownFolder();
    putFile(join(folder, "token"), subject);
    const file = join(folder, "credentials.json");
    putFile(
      file,
      JSON.stringify({
        type: "external_account",
        audience:
          "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/pods",
        subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
        token_url: `http://${exchange}/token`,
        credential_source: { file: join(folder, "token") },
      }),
    );
    return { GOOGLE_APPLICATION_CREDENTIALS: file, CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE: gate.url };
  };
  const object = (name: string): string => encodeURIComponent(`target/${name}`);
  return {
    folder: `gs://${BUCKET}/target`,
    elsewhere: "gs://no-such-bucket/manifest.json",
    // The emulator keeps no `Content-Encoding`.
    put: async (name, body) => {
      const url = `${direct}/upload/storage/v1/b/${BUCKET}/o?uploadType=media&name=${object(name)}`;
      const { ok } = await fetch(url, {
        method: "POST",
        body,
        headers: { "content-type": "application/octet-stream", connection: "close" },
      });
      if (!ok) throw new Error(`${name} was not put.`);
    },
    remove: (name) => fetch(`${direct}/storage/v1/b/${BUCKET}/o/${object(name)}`, { method: "DELETE" }),
    gate,
    variables: identity("pod-token"),
    access: NO_ACCESS,
    refused: [
      { why: "wrong", variables: identity("another-subject") },
      { why: "expired", variables: identity("expired-subject") },
    ],
    secrets: [token, "ya29.wrong-token", "pod-token", "another-subject", "expired-subject"],
    isConditional: true,
  };
}

const ACCOUNT = "devstoreaccount1";

export async function azurite(scheme: "az" | "abfss"): Promise<TestStore> {
  const port = String(await freePort());
  const direct = `http://127.0.0.1:${port}`;
  const key = Buffer.from(randomUUID()).toString("base64");
  const location = ownFolder();
  const args = [
    "--blobHost",
    "127.0.0.1",
    "--blobPort",
    port,
    "--location",
    location,
    "--silent",
    "--skipApiVersionCheck",
    "--disableTelemetry",
  ];
  await started(programPath("azurite-blob"), args, direct, { AZURITE_ACCOUNTS: `${ACCOUNT}:${key}` });
  const gate = await gateTo(direct);
  const connection = (at: string, secret: string): string =>
    `DefaultEndpointsProtocol=http;AccountName=${ACCOUNT};${secret};BlobEndpoint=${at}/${ACCOUNT};`;
  const service = BlobServiceClient.fromConnectionString(connection(direct, `AccountKey=${key}`));
  const container = service.getContainerClient(BUCKET);
  await container.create();
  const wrong = Buffer.from("wrong-account-key").toString("base64");
  const { signature, secret } = expiredSignature(service);
  const at = (name: string): string =>
    scheme === "az" ? `az://${name}` : `abfss://${name}@${ACCOUNT}.dfs.core.windows.net`;
  return {
    folder: `${at(BUCKET)}/target`,
    elsewhere: `${at("no-such-container")}/manifest.json`,
    put: (name, content, blobContentEncoding) =>
      container
        .getBlockBlobClient(`target/${name}`)
        .upload(
          content,
          Buffer.byteLength(content),
          blobContentEncoding === undefined ? {} : { blobHTTPHeaders: { blobContentEncoding } },
        ),
    remove: (name) => container.deleteBlob(`target/${name}`),
    gate,
    variables: { AZURE_STORAGE_CONNECTION_STRING: connection(gate.url, `AccountKey=${key}`) },
    access: NO_ACCESS,
    refused: [
      {
        why: "wrong",
        variables: { AZURE_STORAGE_CONNECTION_STRING: connection(gate.url, `AccountKey=${wrong}`) },
      },
      {
        why: "expired",
        variables: {
          AZURE_STORAGE_CONNECTION_STRING: `BlobEndpoint=${gate.url}/${ACCOUNT};SharedAccessSignature=${signature};AccountName=${ACCOUNT}`,
        },
      },
    ],
    secrets: [key, wrong, signature, secret],
    isConditional: true,
  };
}

/** A SAS token that has expired, and its signature. */
function expiredSignature(service: BlobServiceClient): {
  readonly signature: string;
  readonly secret: string;
} {
  const [from, to] = [new Date(Date.now() - 7_200_000), new Date(Date.now() - 3_600_000)];
  const url = service.generateAccountSasUrl(to, AccountSASPermissions.parse("r"), "sco", { startsOn: from });
  const { search, searchParams } = new URL(url);
  return { signature: search.slice(1), secret: searchParams.get("sig") ?? "" };
}
