/** What generated modules import, and what mounts their handlers in an Express app. */
export { Keyring, readKeyring } from "./access/authorize.js";
export {
  defineEndpoint,
  type Declaration,
  type DefinedEndpoint,
  type EndpointModule,
  type Envelope,
  type ErrorBody,
  type GetHandler,
  type PostHandler,
  type ResponseBody,
} from "./data-api/define.js";
export type * from "./model/endpoint.js";
export type { Gateway } from "./data-api/gateway.js";
export { withGateway } from "./data-api/handler.js";
export { openGateway, type GatewayOptions } from "./data-api/gateway.js";
