/** What generated modules import, and what mounts their handlers in an Express app. */
export { Keyring, readKeyring } from "./request/keyring.js";
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
} from "./handler/define.js";
export type * from "./model/endpoint.js";
export type { GatewayOptions } from "./handler/gateway.js";
export { openGateway, type OpenGateway as Gateway, withGateway } from "./handler/open-gateway.js";
