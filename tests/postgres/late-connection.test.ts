/** A health check ends the attempt to connect that it waited for: after a failover the next one reaches the new server. */
import { expect, it } from "vitest";
import { ControlConnection } from "../../runtime/postgres/control-connection.js";
import { SessionSetup } from "../../runtime/postgres/session.js";
import { atEnd } from "../support/at-end.js";
import { databaseUrl } from "../support/database.js";
import { proxyOf } from "../support/database-proxy.js";

it.each(["disable", "prefer", "allow"])(
  "a check after one that was late connects anew (sslmode=%s)",
  async (mode) => {
    let isMute = true;
    const { url } = await proxyOf(databaseUrl, (client, open) => {
      if (isMute) return;
      const database = open();
      client.pipe(database).on("close", () => client.destroy());
      database.pipe(client).on("close", () => database.destroy());
    });
    const address = new URL(url);
    address.searchParams.set("sslmode", mode);
    const control = new ControlConnection({
      url: address.href,
      setup: new SessionSetup(1_000),
      cursors: new Set(),
      onIdleError: () => undefined,
    });
    atEnd(() => control.close());
    expect(await control.ping()).toBe(false);
    isMute = false;
    expect(await control.ping()).toBe(true);
  },
);
