import { addressOf, type ApiRequest, bodyOf } from "./api.js";

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
  // JSON is valid JavaScript and, without booleans and null, valid Python.
  const body = request.method === "POST" ? JSON.stringify(bodyOf(request), null, 2) : null;
  return {
    curl: curl(url, body, hasKey),
    JavaScript:
      javaScript(url, body, hasKey) +
      (isEnvelope
        ? "\nconst rows = (await response.json()).items;"
        : "\nconst rows = await response.json();"),
    Python: python(url, body, hasKey) + (isEnvelope ? `["items"]` : ""),
  };
}

function curl(url: string, body: string | null, hasKey: boolean): string {
  const parts = [
    hasKey && '-H "X-API-Key: $API_KEY"',
    body !== null && "-H 'Content-Type: application/json'",
    body !== null && `-d ${shellQuoted(body)}`,
    shellQuoted(url),
  ].filter((part) => part !== false);
  return `curl ${parts.join(body === null ? " " : " \\\n  ")}`;
}

function javaScript(url: string, body: string | null, hasKey: boolean): string {
  const headers = [
    body !== null && '"Content-Type": "application/json"',
    hasKey && '"X-API-Key": process.env.API_KEY',
  ].filter((header) => header !== false);
  const options = [
    body !== null && 'method: "POST"',
    headers.length > 0 && `headers: { ${headers.join(", ")} }`,
    body !== null && `body: JSON.stringify(${indented(body, "  ")})`,
  ].filter((option) => option !== false);
  return `const response = await fetch(${JSON.stringify(url)}${options.length === 0 ? "" : `, {\n  ${options.join(",\n  ")},\n}`});
if (!response.ok) throw new Error((await response.json()).detail);`;
}

function python(url: string, body: string | null, hasKey: boolean): string {
  const options = [
    JSON.stringify(url),
    hasKey && 'headers={"X-API-Key": os.environ["API_KEY"]}',
    body !== null && `json=${indented(body, "    ")}`,
    "timeout=30",
  ].filter((option) => option !== false);
  return `${hasKey ? "import os\n" : ""}import requests

response = requests.${body === null ? "get" : "post"}(
    ${options.join(",\n    ")},
)
response.raise_for_status()
rows = response.json()`;
}

function indented(text: string, indent: string): string {
  return text.replaceAll("\n", `\n${indent}`);
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
