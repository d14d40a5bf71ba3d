/** A host of assistants in a browser: the library's own host side, with an official client that has the key. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";

interface Frame {
  readonly sandbox: { readonly add: (right: string) => void };
  readonly style: { height: string };
  readonly contentWindow: never;
  srcdoc: string;
}

/** What the browser has: the types of tests know Node alone. */
const { document, location } = globalThis as unknown as {
  readonly location: { readonly search: string };
  readonly document: {
    readonly body: { readonly append: (frame: Frame) => void };
    readonly createElement: (name: "iframe") => Frame;
  };
};

/** What the page is told by its address. */
const { url, key, tool, args } = Object.fromEntries(new URLSearchParams(location.search)) as Record<
  "url" | "key" | "tool" | "args",
  string
>;

/** By the `csp` of a view without domains, as hosts build it. */
const CSP = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:">`;

async function show(): Promise<void> {
  const client = new Client({ name: "host", version: "1" }, { versionNegotiation: { mode: "auto" } });
  const requestInit = { headers: { "X-API-Key": key } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  const { tools } = await client.listTools();
  const meta = tools.find(({ name }) => name === tool)?._meta as { ui: { resourceUri: string } };
  const { contents } = await client.readResource({ uri: meta.ui.resourceUri });
  const [view] = contents;
  if (view === undefined || !("text" in view)) throw new Error("The view has no text.");
  const frame = document.createElement("iframe");
  frame.sandbox.add("allow-scripts");
  document.body.append(frame);
  const bridge = new AppBridge(client, { name: "host", version: "1" }, { serverTools: {} });
  bridge.addEventListener(
    "sizechange",
    ({ height }) => void (frame.style.height = `${String(height ?? 600)}px`),
  );
  const given = JSON.parse(args) as Record<string, unknown>;
  bridge.addEventListener("initialized", () => {
    void bridge.sendToolInput({ arguments: given });
    void client.callTool({ name: tool, arguments: given }).then((result) => bridge.sendToolResult(result));
  });
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  frame.srcdoc = view.text.replace("<head>", `<head>${CSP}`);
}

void show();
