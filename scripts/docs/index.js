/** VitePress's own theme with a button above each page that copies its Markdown. */
import DefaultTheme from "vitepress/theme";
import { useData } from "vitepress";
import { h, ref } from "vue";

const CopyButton = {
  setup() {
    const { page } = useData();
    const label = ref("Copy as Markdown");
    const copy = async () => {
      const response = await fetch(`/${page.value.filePath}`);
      await navigator.clipboard.writeText(await response.text());
      label.value = "Copied";
      setTimeout(() => (label.value = "Copy as Markdown"), 2000);
    };
    const style = "display: block; margin-left: auto; font-size: 13px; color: var(--vp-c-brand-1)";
    return () => h("button", { type: "button", style, onClick: copy }, label.value);
  },
};

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { "doc-before": () => h(CopyButton) }),
};
