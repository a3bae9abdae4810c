// Keeps the files of the page, so that it starts without a network. The build inserts the list
// `files`, and `version`, which changes with them, before this script (vite.config.ts).
// biome-ignore-all lint/correctness/noUndeclaredVariables: the build declares them

const current = `shopping ${version}`;

self.addEventListener("install", (event) => {
  const keep = async () => (await caches.open(current)).addAll(files);
  event.waitUntil(keep());
});

self.addEventListener("activate", (event) => {
  const deleteOld = async () => {
    const old = (await caches.keys()).filter((name) => name !== current);
    await Promise.all(old.map((name) => caches.delete(name)));
  };
  event.waitUntil(deleteOld());
});

// Other requests, such as that for the session, need the network.
self.addEventListener("fetch", (event) => {
  const isOurs = event.request.url.startsWith(self.registration.scope);
  if (event.request.method !== "GET" || !isOurs) return;
  const respond = async () => (await caches.match(event.request)) ?? fetch(event.request);
  event.respondWith(respond());
});
