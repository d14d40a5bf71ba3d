/** The request as code, for copying. The key is left for the reader to fill in: what is copied may end up anywhere. */
export function samplesOf(
  url: string,
  hasKey: boolean,
): Readonly<Record<"curl" | "JavaScript" | "Python", string>> {
  const quoted = JSON.stringify(url);
  return {
    curl: `curl ${hasKey ? '-H "X-API-Key: $API_KEY" ' : ""}${shellQuoted(url)}`,
    JavaScript: `const response = await fetch(${quoted}${hasKey ? `, {\n  headers: { "X-API-Key": process.env.API_KEY },\n}` : ""});
if (!response.ok) throw new Error((await response.json()).detail);
const rows = await response.json();`,
    Python: `${hasKey ? "import os\n" : ""}import requests

response = requests.get(
    ${quoted},${hasKey ? '\n    headers={"X-API-Key": os.environ["API_KEY"]},' : ""}
    timeout=30,
)
response.raise_for_status()
rows = response.json()`,
  };
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
