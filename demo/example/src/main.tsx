// The page: fetches the address of the list from its server, and shows the list.

import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import { type Session, ShoppingList } from "./list.ts";

async function session(): Promise<Session> {
  return (await fetch("session.json", { cache: "no-store" })).json();
}

const list = new ShoppingList(await session(), session);
createRoot(document.getElementById("app") as HTMLElement).render(<App list={list} />);
