/**
 * Without a `navigator` (Node 20) `pg` asks for `Response` as it loads, to find out whether it runs in Cloudflare, and Node loads its
 * `fetch`: 11 MB, 20 ms. Defined as Node 21 and later have it, until `pg` is loaded.
 */
const isMissing = !("navigator" in globalThis);
if (isMissing)
  Object.defineProperty(globalThis, "navigator", { value: { userAgent: "Node.js/20" }, configurable: true });

export const removeNavigator = () => isMissing && Reflect.deleteProperty(globalThis, "navigator");
