// Runs on every page: the colour theme, the contents menu on small screens, and the runnable code
// blocks if the page has any.

import { registerOfflineCopy } from "./offline-copy.ts";

const themes = ["system", "light", "dark"] as const;
type Theme = (typeof themes)[number];

const names: Record<Theme, string> = {
  system: "system default",
  light: "light",
  dark: "dark",
};

function chosenTheme(): Theme {
  return (document.documentElement.dataset["theme"] as Theme | undefined) ?? "system";
}

function showTheme(button: HTMLElement): void {
  button.setAttribute("aria-label", `Colours: ${names[chosenTheme()]}`);
}

function nextTheme(button: HTMLElement): void {
  const next = themes[(themes.indexOf(chosenTheme()) + 1) % themes.length] as Theme;
  if (next === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = next;
  showTheme(button);
  try {
    localStorage.setItem("theme", next);
  } catch {
    // Storage is blocked: the choice applies to this page only.
  }
}

const button = document.querySelector<HTMLElement>("#theme");
if (button !== null) {
  showTheme(button);
  button.addEventListener("click", () => nextTheme(button));
}

// On wide screens the contents are always open beside the text; otherwise they are a menu above it.
const menu = document.querySelector<HTMLDetailsElement>("#menu");
const wide = matchMedia("(min-width: 62rem)");
function openWhereWide(): void {
  if (menu !== null) menu.open = wide.matches;
}
wide.addEventListener("change", openWhereWide);
openWhereWide();

// Scrolls the contents so that the entry of this page is visible.
const contents = document.querySelector<HTMLElement>(".guide");
const here = contents?.querySelector<HTMLElement>("[aria-current]");
if (contents && here && wide.matches) contents.scrollTop = here.offsetTop - innerHeight / 2;

registerOfflineCopy(document.body.dataset["up"] ?? "./");

if (document.querySelector("table-playground") !== null) await import("./runnable-blocks.ts");
if (document.querySelector("table-explorer") !== null) await import("./explorer.ts");
