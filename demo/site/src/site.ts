// What runs on every page: the colours, the contents on small screens, and the live blocks where there are some.

import { keepOffline } from "./offline-copy.ts";

const themes = ["system", "light", "dark"] as const;
type Theme = (typeof themes)[number];

const names: Record<Theme, string> = {
  system: "as the system has them",
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
    // Storage is forbidden: the choice is this page's only.
  }
}

const button = document.querySelector<HTMLElement>("#theme");
if (button !== null) {
  showTheme(button);
  button.addEventListener("click", () => nextTheme(button));
}

// Beside the text the contents are always open; above it they are a menu.
const menu = document.querySelector<HTMLDetailsElement>("#menu");
const wide = matchMedia("(min-width: 62rem)");
function openWhereWide(): void {
  if (menu !== null) menu.open = wide.matches;
}
wide.addEventListener("change", openWhereWide);
openWhereWide();

// This page's entry is in sight, however long the contents are.
const contents = document.querySelector<HTMLElement>(".guide");
const here = contents?.querySelector<HTMLElement>("[aria-current]");
if (contents && here && wide.matches) contents.scrollTop = here.offsetTop - innerHeight / 2;

keepOffline(document.body.dataset["up"] ?? "./");

if (document.querySelector("table-playground") !== null) await import("./chapter.ts");
if (document.querySelector("table-explorer") !== null) await import("./explorer.ts");
