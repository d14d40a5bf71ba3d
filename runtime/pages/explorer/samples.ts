import { addressOf, type ApiRequest } from "./api.js";

export const LANGUAGES = ["curl", "JavaScript", "Python"] as const;
export type Language = (typeof LANGUAGES)[number];

/** The request as code, for copying. It has a placeholder for the key, since copied text may be shared. */
export function samplesOf(
  request: ApiRequest,
  origin: string,
  hasKey: boolean,
): Readonly<Record<Language, string>> {
  const url = origin + addressOf(request);
  const isEnvelope = request.endpoint.pagination?.response === "envelope";
  const quoted = JSON.stringify(url);
  const options = hasKey ? ', { headers: { "X-API-Key": process.env.API_KEY } }' : "";
  const headers = hasKey ? '\n    headers={"X-API-Key": os.environ["API_KEY"]},' : "";
  return {
    curl: `curl ${hasKey ? '-H "X-API-Key: $API_KEY" ' : ""}'${url.replaceAll("'", "'\\''")}'`,
    JavaScript: `const response = await fetch(${quoted}${options});
if (!response.ok) throw new Error((await response.json()).detail);
const rows = ${isEnvelope ? "(await response.json()).items" : "await response.json()"};`,
    Python: `${hasKey ? "import os\n" : ""}import requests

response = requests.get(
    ${quoted},${headers}
    timeout=30,
)
response.raise_for_status()
rows = response.json()${isEnvelope ? `["items"]` : ""}`,
  };
}
