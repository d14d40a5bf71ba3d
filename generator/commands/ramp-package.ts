import type * as Environment from "@routewright/ramp/environment";
import type * as Ramp from "@routewright/ramp";
import { versionOf } from "./command.js";

/** The ramp: a package of its own, which not everybody installs (its README). Null: it is not installed. */
export const loadRamp = (): Promise<typeof Ramp | null> => installed(() => import("@routewright/ramp"));

/** Its settings alone: they load none of it. */
export const loadRampEnvironment = (): Promise<typeof Environment | null> =>
  installed(() => import("@routewright/ramp/environment"));

async function installed<Module>(load: () => Promise<Module>): Promise<Module | null> {
  try {
    return await load();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ERR_MODULE_NOT_FOUND" && message.includes("'@routewright/ramp'")) return null;
    throw error;
  }
}

/** What to do where it is not installed. */
export const rampMissing = (): string =>
  `The ramp is a package that is not installed: run \`npm install @routewright/ramp@${versionOf()}\`.`;
