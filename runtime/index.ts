/** What generated modules import, and what mounts them in an Express app of one's own. */
export { Keyring, readKeyring } from "./auth/keyring.js";
export {
  defineEndpoint,
  type Answer,
  type Declaration,
  type EndpointModule,
  type Envelope,
  type ErrorBody,
} from "./endpoint/define.js";
export type * from "./endpoint/endpoint.js";
export type { Gateway } from "./endpoint/gateway.js";
export { withGateway } from "./endpoint/mount.js";
export { openGateway, type GatewayOptions } from "./endpoint/open-gateway.js";
