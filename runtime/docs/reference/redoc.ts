/** Starts Redoc: operations show their tier, and its accessibility faults are fixed. */
import { fetchDescription, onChanges, operationsOf, setLevel, tierName } from "./description.js";

declare const Redoc: {
  init(description: object, options: object, root: Element): void;
};

const description = await fetchDescription();
const root = document.querySelector("#redoc");
if (description !== null && root !== null) {
  for (const operation of operationsOf(description)) {
    const name = tierName(operation);
    if (name !== null) operation["x-badges"] = [{ name, color: "#3b4754" }];
  }
  Redoc.init(description, { requiredPropsFirst: true, hideDownloadButton: false }, root);
  onChanges(root, () => {
    // Its label leaves out what stands below it.
    for (const item of root.querySelectorAll("li[role=menuitem][aria-label]"))
      item.removeAttribute("aria-label");
    setLevel(".api-content h5, .api-content h3", 3);
  });
}
