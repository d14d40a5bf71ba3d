/** The key file, for the command line. */
export { addKey, removeKey, storedKeys, type StoredKey } from "./access/key-file.js";
