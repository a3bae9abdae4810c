// Keeps the files of the page, so that it starts without a network. The build inserts the list
// `files`, and `version`, which changes with them, before this script (vite.config.ts).
// biome-ignore-all lint/correctness/noUndeclaredVariables: the build declares them

// Other pages of the origin have caches, too.
const prefix = "shopping ";
const current = prefix + version;

self.addEventListener("install", (event) => {
  // The browser's own cache may have a file of an older version.
  const requests = files.map((file) => new Request(file, { cache: "reload" }));
  const keep = async () => (await caches.open(current)).addAll(requests);
  event.waitUntil(keep());
});

self.addEventListener("activate", (event) => {
  const deleteOld = async () => {
    const own = (await caches.keys()).filter((name) => name.startsWith(prefix));
    const old = own.filter((name) => name !== current);
    await Promise.all(old.map((name) => caches.delete(name)));
  };
  event.waitUntil(deleteOld());
});

// Other requests, such as that for the session, need the network.
self.addEventListener("fetch", (event) => {
  const isOurs = event.request.url.startsWith(self.registration.scope);
  if (event.request.method !== "GET" || !isOurs) return;
  const respond = async () => {
    const cache = await caches.open(current);
    return (await cache.match(event.request)) ?? fetch(event.request);
  };
  event.respondWith(respond());
});
