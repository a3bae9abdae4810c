// Runs on every page: the colour theme, the contents and the outline on small screens, the search,
// the copy buttons, and the runnable code blocks if the page has any.

import { addCopyButtons } from "./copy-buttons.ts";
import { registerOfflineCopy } from "./offline-copy.ts";
import type { Search } from "./search.ts";

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

// On wide screens, the contents and the outline are open beside the text; otherwise they are menus
// above it.
const wide = matchMedia("(min-width: 62rem)");
const wider = matchMedia("(min-width: 84rem)");
function openBesideText(selector: string, query: MediaQueryList): void {
  const menu = document.querySelector<HTMLDetailsElement>(selector);
  const update = () => {
    if (menu !== null) menu.open = query.matches;
  };
  query.addEventListener("change", update);
  update();
}
openBesideText("#menu", wide);
openBesideText("main:not(.panes) #outline", wider);

// Scrolls the contents so that the entry of this page is visible.
const contents = document.querySelector<HTMLElement>(".guide");
const here = contents?.querySelector<HTMLElement>("[aria-current]");
if (contents && here && wide.matches) contents.scrollTop = here.offsetTop - innerHeight / 2;

// Types of the API reference are folded. A link to one unfolds it.
function unfoldTarget(): void {
  const target = document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) target.open = true;
}
addEventListener("hashchange", unfoldTarget);
unfoldTarget();

const up = document.body.dataset["up"] ?? "./";
let search: Promise<Search> | undefined;
async function openSearch(): Promise<void> {
  try {
    search ??= import("./search.ts").then(({ Search }) => new Search(up));
    (await search).open();
  } catch {
    search = undefined; // There is no network; the next attempt loads the script again.
  }
}
document.querySelector("#search")?.addEventListener("click", openSearch);
document.addEventListener("keydown", (event) => {
  if (event.key !== "k" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  void openSearch();
});

addCopyButtons();
registerOfflineCopy(up);

if (document.querySelector("table-playground") !== null) await import("./runnable-blocks.ts");
if (document.querySelector("table-explorer") !== null) await import("./explorer.ts");
