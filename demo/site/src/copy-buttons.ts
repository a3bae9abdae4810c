// Adds a button that copies the code to every block, whether or not it can be run.
import type { TablePlayground } from "entitable/explorer";
import { h } from "./dom.ts";

export function addCopyButtons(): void {
  for (const code of document.querySelectorAll<HTMLElement>("pre.code")) {
    const block = h("div", { class: "block" });
    code.before(block);
    block.append(
      copyButton(() => code.textContent ?? ""),
      code,
    );
  }
  for (const playground of document.querySelectorAll<TablePlayground>("table-playground")) {
    // Before the element is defined, its text is its code.
    playground.before(copyButton(() => playground.code ?? playground.textContent ?? ""));
  }
}

function copyButton(code: () => string): HTMLElement {
  const button = h("button", { type: "button", class: "copy" }, "Copy");
  button.addEventListener("click", async () => {
    const copied = await navigator.clipboard.writeText(`${code().trim()}\n`).then(
      () => true,
      () => false, // the browser does not allow it
    );
    button.textContent = copied ? "Copied" : "Not allowed";
    setTimeout(() => {
      button.textContent = "Copy";
    }, 2000);
  });
  return button;
}
