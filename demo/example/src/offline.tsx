// The page of the list that works offline: the app of main.tsx, on another ShoppingList, and with
// what sync shows. A Service Worker keeps the page's files.

import { createRoot } from "react-dom/client";
import { App } from "./app.tsx";
import type { Session } from "./list.ts";
import { openOfflineList } from "./offline-list.ts";
import { SyncBar } from "./sync-bar.tsx";

async function session(): Promise<Session> {
  const response = await fetch("session.json", { cache: "no-store" });
  if (!response.ok) throw new Error(`There is no session: ${response.status}`);
  const fetched = await response.json();
  localStorage.setItem("session", JSON.stringify(fetched));
  return fetched;
}

// Without a network, the page starts with the last session. Sync waits for a newer one.
function lastSession(error: unknown): Session {
  const stored = localStorage.getItem("session");
  if (stored === null) throw error;
  return JSON.parse(stored);
}

// Without a secure connection, browsers have no Service Workers.
if (import.meta.env.PROD && "serviceWorker" in navigator)
  navigator.serviceWorker.register("service-worker.js").catch(console.warn);

const { list, sync, watch } = await openOfflineList(await session().catch(lastSession), session);
createRoot(document.getElementById("app") as HTMLElement).render(
  <>
    <SyncBar sync={sync} />
    <App list={list} watch={watch} />
  </>,
);
