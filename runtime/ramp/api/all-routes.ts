import type { Route } from "./route.js";
import { getProviders, getQuote, getRequirements, getSupportedCurrencies } from "./routes/payment-options.js";
import { createCustomer, deleteCustomer, getCustomers } from "./routes/customers.js";
import {
  getProjectIntent,
  getProjectIntents,
  cancelIntent,
  createIntent,
  getIntent,
  getIntents,
  executeTransaction,
  getTransaction,
} from "./routes/intents.js";
import { getDeliveries, getEvents } from "./routes/events.js";
import {
  createExternalAccounts,
  getExternalAccounts,
  removeExternalAccount,
} from "./routes/external-accounts.js";
import { receiveCallback, createWalletToken, getWalletNonce } from "./routes/public.js";

/** All endpoints, in the order of the documentation; the app, the OpenAPI document and the tests go through this list. */
export const ROUTES: readonly Route[] = [
  createCustomer,
  getCustomers,
  deleteCustomer,
  getSupportedCurrencies,
  getProviders,
  getRequirements,
  getQuote,
  createIntent,
  getIntents,
  getIntent,
  cancelIntent,
  executeTransaction,
  getTransaction,
  getProjectIntents,
  getProjectIntent,
  createExternalAccounts,
  getExternalAccounts,
  removeExternalAccount,
  getWalletNonce,
  createWalletToken,
  getEvents,
  getDeliveries,
  receiveCallback,
];
