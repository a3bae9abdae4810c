// The Service Worker: caches the whole site at the first visit, and serves it from the cache. The
// build inserts the constants `version`, `files` and `later` (the large files) before this script;
// see build/precache.ts. A new version waits until no page of the old version is open, so that no
// page loads a mixture of both.
// biome-ignore-all lint/correctness/noUndeclaredVariables: the build declares them

const prefix = `site ${self.registration.scope} `;
const current = prefix + version;

self.addEventListener("install", (event) => event.waitUntil(cacheSite()));
self.addEventListener("activate", (event) => event.waitUntil(takeOver()));
self.addEventListener("message", (event) => event.waitUntil(cacheOptionalFiles()));
self.addEventListener("fetch", (event) => {
  const { method, url } = event.request;
  if (method === "GET" && url.startsWith(self.registration.scope)) event.respondWith(respond(url));
});

async function cacheSite() {
  const cache = await caches.open(current);
  const requests = files.map((file) => {
    const url = new URL(file.replace(/(^|\/)index\.html$/, "$1"), self.registration.scope);
    return new Request(url, { cache: "reload" });
  });
  await cache.addAll(requests);
}

// Runs when a page is idle. If caching a file fails, the next page requests it again.
let rest;
function cacheOptionalFiles() {
  rest ??= cacheMissingFiles(later)
    .catch(() => {})
    .finally(() => {
      rest = undefined;
    });
  return rest;
}

async function cacheMissingFiles(wanted) {
  const cache = await caches.open(current);
  for (const file of wanted) {
    const url = new URL(file, self.registration.scope);
    if ((await cache.match(url)) === undefined) await cache.add(url);
  }
}

async function takeOver() {
  const names = await caches.keys();
  const old = names.filter((name) => name.startsWith(prefix) && name !== current);
  await Promise.all(old.map((name) => caches.delete(name)));
  await self.clients.claim();
}

async function respond(url) {
  const cache = await caches.open(current);
  const address = url.replace(/[?#].*$/, "").replace(/\/index\.html$/, "/");
  const kept = await cache.match(address);
  if (kept !== undefined) return kept;
  const response = await fetch(url);
  if (response.ok) await cache.put(address, response.clone());
  return response;
}
