export interface ServeFlags {
  /** The generated folder. */
  readonly generated: string;
  /** Overrides `PORT`. */
  readonly port?: string;
  /** Overrides `RAMP_PORT`. */
  readonly rampPort?: string;
  /** Serve one of the two APIs alone. */
  readonly only?: "data" | "ramp";
  /** Follow the manifest that the environment names. */
  readonly watch: boolean;
  /** Hold back breaking and exposing changes at refresh; overrides `REFRESH_GUARD`. */
  readonly guard: boolean;
  /** Processes that serve the data API; 1: this one serves all. */
  readonly workers: number;
}

/** What the servers keep on this machine: the embedded database, compiled routes, and the ramp's key beside them. */
export const DATA_DIR = ".data";
