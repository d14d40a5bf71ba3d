/** Entry of the thread in which a server that has started compares its relations: thousands of them take a second. */
import { workerData } from "node:worker_threads";
import { type Verified, logDifferences } from "./verify.js";

await logDifferences(workerData as Verified);
