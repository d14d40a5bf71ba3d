/** A health check ends the attempt to connect that it waited for: after a failover the next one reaches the new server. */
import { expect, it } from "vitest";
import { ControlConnection } from "../../runtime/postgres/control-connection.js";
import { SessionSetup } from "../../runtime/postgres/session.js";
import { atEnd } from "../support/at-end.js";
import { databaseUrl } from "../support/database.js";
import { proxyThatMutes } from "../support/database-proxy.js";

it.each(["disable", "prefer", "allow"])(
  "a check after one that was late connects anew (sslmode=%s)",
  async (mode) => {
    const proxy = await proxyThatMutes(databaseUrl);
    proxy.isMute = true;
    const address = new URL(proxy.url);
    address.searchParams.set("sslmode", mode);
    const control = new ControlConnection({
      url: address.href,
      setup: new SessionSetup(1_000),
      cursors: new Set(),
      onIdleError: () => undefined,
    });
    atEnd(() => control.close());
    expect(await control.ping()).toBe(false);
    proxy.isMute = false;
    expect(await control.ping()).toBe(true);
  },
);
