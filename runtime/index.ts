/** What generated modules import, and what mounts their handlers in an Express app. */
export { Keyring, readKeyring } from "./core/request/keyring.js";
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
} from "./core/handler/define.js";
export type * from "./core/model/endpoint.js";
export type { GatewayOptions } from "./core/handler/gateway.js";
export { openGateway, type OpenGateway as Gateway, withGateway } from "./core/handler/open-gateway.js";
