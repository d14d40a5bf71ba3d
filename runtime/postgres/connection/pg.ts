import { removeNavigator } from "./navigator.js";
export { default } from "pg";
removeNavigator();
