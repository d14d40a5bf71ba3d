import { createHash, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { ArtifactAccess } from "../../generator/artifacts/store.js";
import { NO_ACCESS } from "../../generator/artifacts/source.js";
import { listen } from "../support/port.js";
import { ownFolder } from "../support/service.js";
import { gateTo } from "./gate.js";
import { azurite, gcsEmulator, moto } from "./object-stores.js";
import { putFile, type TestStore } from "./store.js";

export const STORES: Readonly<Record<string, () => Promise<TestStore>>> = {
  "a local folder": localFolder,
  "https://": webServer,
  "s3://": moto,
  "gs://": gcsEmulator,
  "az://": () => azurite("az"),
  "abfss://": () => azurite("abfss"),
  "dbt-cloud://": dbtCloud,
};

function localFolder(): Promise<TestStore> {
  const folder = ownFolder();
  return Promise.resolve({
    folder,
    elsewhere: join(folder, "none/manifest.json"),
    put: (name, text) => Promise.resolve(putFile(join(folder, name), text)),
    remove: (name) => Promise.resolve(rmSync(join(folder, name), { force: true })),
    gate: null,
    variables: {},
    access: NO_ACCESS,
    refused: [],
    secrets: [],
    isConditional: false,
  });
}

/** Files by path, with an `ETag`, as a web server sends them. */
async function fileServer(isAllowed: (authorization: string | undefined, name: string) => number) {
  const files = new Map<string, { readonly content: string | Buffer; readonly encoding?: string }>();
  const server = createServer(({ url = "", headers }, response) => {
    const path = url.replace(/\?.*/, "");
    const status = isAllowed(headers.authorization, path);
    const file = files.get(path);
    if (status !== 200 || file === undefined)
      return void response.writeHead(status === 200 ? 404 : status).end();
    const { content, encoding } = file;
    const etag = `"${createHash("md5").update(content).digest("hex")}"`;
    if (headers["if-none-match"] === etag) return void response.writeHead(304, { etag }).end();
    response
      .writeHead(200, {
        ...{ etag, "content-type": "application/json", "content-length": Buffer.byteLength(content) },
        ...(encoding !== undefined && { "content-encoding": encoding }),
      })
      .end(content);
  });
  const gate = await gateTo(`http://${await listen(server)}`);
  const put = (path: string, content: string | Buffer, encoding?: string): Promise<void> =>
    Promise.resolve(void files.set(path, { content, ...(encoding !== undefined && { encoding }) }));
  return { put, files, gate };
}

async function webServer(): Promise<TestStore> {
  const login = Buffer.from("me:s3cret").toString("base64");
  const { put, files, gate } = await fileServer((authorization) =>
    authorization === `Basic ${login}` ? 200 : 401,
  );
  const { host } = new URL(gate.url);
  return {
    folder: `http://me:s3cret@${host}/target`,
    elsewhere: `http://me:s3cret@${host}/none/manifest.json`,
    put: (name, ...of) => put(`/target/${name}`, ...of),
    remove: (name) => Promise.resolve(void files.delete(`/target/${name}`)),
    gate,
    variables: {},
    access: NO_ACCESS,
    refused: [],
    secrets: ["s3cret", login],
    isConditional: true,
  };
}

/** dbt Cloud's artifacts API v2: the files of a job's latest successful run, for a token. */
async function dbtCloud(): Promise<TestStore> {
  const token = `dbtc_${randomUUID()}`;
  const path = "/api/v2/accounts/12345/jobs/678/artifacts";
  const { put, files, gate } = await fileServer((authorization) =>
    authorization === `Token ${token}` ? 200 : 401,
  );
  const access = (own: string): ArtifactAccess => ({
    header: null,
    dbtCloud: { host: gate.url, token: own },
  });
  return {
    folder: "dbt-cloud://12345/jobs/678",
    elsewhere: "dbt-cloud://12345/jobs/999/manifest.json",
    put: (name, ...of) => put(`${path}/${name}`, ...of),
    remove: (name) => Promise.resolve(void files.delete(`${path}/${name}`)),
    gate,
    variables: {},
    access: access(token),
    refused: [
      { why: "wrong", access: access("dbtc_wrong-token") },
      { why: "expired", access: access("dbtc_expired-token") },
    ],
    secrets: [token, "dbtc_wrong-token", "dbtc_expired-token"],
    isConditional: true,
  };
}
