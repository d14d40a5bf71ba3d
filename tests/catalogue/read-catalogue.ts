/** Reads the catalogue of a folder, and prints whether it could, and whether that loaded the code of its schema. */
import { createRequire } from "node:module";
import { readCatalogueIn } from "../../generator/catalogue/catalogue-file.js";

const [, , folder = ""] = process.argv;
const reading = readCatalogueIn(folder);
const { cache } = createRequire(import.meta.url);
console.log(
  reading?.ok,
  Object.keys(cache).some((file) => file.endsWith("validators/catalogue.cjs")),
);
