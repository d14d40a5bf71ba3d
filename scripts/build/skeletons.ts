/** Cuts the templates at their holes (a step of `npm run build`). */
import { readFileSync, writeFileSync } from "node:fs";
import { cutSkeletons } from "../../generator/render/skeleton.js";

const template = (name: string): string =>
  readFileSync(new URL(`../../templates/skeleton/${name}.ts`, import.meta.url), "utf8");

const skeletons = cutSkeletons({ route: template("route"), index: template("index") });
writeFileSync(new URL("../../generator/dist/skeletons.json", import.meta.url), JSON.stringify(skeletons));
