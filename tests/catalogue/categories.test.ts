import { expect, it } from "vitest";
import { catalogueOf } from "../../generator/catalogue/build.js";
import { catalogueText, readCatalogue } from "../../generator/catalogue/catalogue-file.js";
import { parseManifest } from "../../generator/manifest/manifest.js";
import { openApiOf } from "../../generator/render/openapi/document.js";
import { manifestOf } from "../support/manifest.js";

interface ManifestJson {
  readonly nodes: Record<string, { config: { meta: object } }>;
}

const model = (name: string, category: string) => ({
  name,
  tags: ["production", category, `api:${name}`],
  columns: { id: "int" },
});

/** Three categories; doc blocks for two of them, and a text in a model's `meta` for one. */
function catalogue() {
  const json = manifestOf([model("a", "shop"), model("b", "staff"), model("c", "bare")]) as ManifestJson;
  const texts = { staff: "From meta.", elsewhere: "Not published.", bad: 7 };
  json.nodes["model.test.b"]!.config.meta = { routewright: { categories: texts } };
  const block = (name: string, block_contents: string) => ({ name, block_contents });
  const docs = {
    "doc.test.category_shop": block("category_shop", "\nWhat is sold. </script>\n"),
    "doc.test.category_staff": block("category_staff", "From the block."),
    "doc.test.other": block("other", "Not of a category."),
  };
  const reading = parseManifest(JSON.stringify({ ...json, docs }), "manifest.json");
  if (!reading.ok) throw new Error(reading.problem);
  return catalogueOf(reading.manifest);
}

it("takes what a project says of its categories: meta.routewright.categories, else the doc block category_<name>", () => {
  expect(Object.fromEntries(catalogue().categories)).toEqual({
    shop: "What is sold. </script>",
    staff: "From meta.",
  });
});

it("describes tags with it, and says nothing of a category of which the project says nothing", () => {
  expect(openApiOf(catalogue()).tags.slice(0, 3)).toEqual([
    { name: "bare" },
    { name: "shop", description: "What is sold. </script>" },
    { name: "staff", description: "From meta." },
  ]);
});

it("keeps it in catalogue.json", () => {
  const reading = readCatalogue(catalogueText(catalogue(), null));
  expect(reading.ok && reading.catalogue.categories).toEqual(catalogue().categories);
});
