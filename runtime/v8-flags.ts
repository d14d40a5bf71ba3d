import { setFlagsFromString } from "node:v8";

/**
 * Keeps V8 from placing new objects among the old ones, for all of the process; to be called before anything is served.
 *
 * V8 does that for a piece of code whose objects have lived long. The first requests to thousands of endpoints make what
 * is kept for each; the same code then makes what every request throws away, among the old objects, where it keeps all
 * alive that it refers to, the next request's included: nothing is collected while it is young any more. At 10,000
 * endpoints that took more time than the requests themselves.
 */
export function setV8Flags(): void {
  setFlagsFromString("--no-allocation-site-pretenuring");
}
