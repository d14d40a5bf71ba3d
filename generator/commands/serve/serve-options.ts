import type { RampEnvironment } from "@routewright/ramp/environment";
import type { Environment } from "@routewright/runtime/server";
import type { Settings } from "../../config.js";
import type { ReportProgress } from "../progress.js";

/** The settings of both services. */
export interface Environments {
  readonly data: Environment;
  /** Null: the ramp is not installed. */
  readonly ramp: RampEnvironment | null;
}

export interface ServeOptions extends Pick<
  Settings,
  | "about"
  | "catalog"
  | "access"
  | "schemas"
  | "engine"
  | "publicMaxAge"
  | "publish"
  | "purgeUrl"
  | "purgeMethod"
  | "severities"
  | "accept"
  | "minimumNoticeDays"
> {
  /** The generated folder. */
  readonly generated: string;
  /** Whether its modules may differ from what was generated. */
  readonly allowEdited: boolean;
  /** Serve one of the two APIs alone. */
  readonly only?: "data" | "ramp";
  /** Follow the manifest that the environment or the config file names. */
  readonly watch: boolean;
  /** Processes that serve the data API; 1: this one serves all. */
  readonly workers: number;
  /** Told how far the start is. */
  readonly progress?: ReportProgress;
}
