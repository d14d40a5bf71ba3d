/** What generated modules import. */
export type * from "./endpoint/endpoint.js";
