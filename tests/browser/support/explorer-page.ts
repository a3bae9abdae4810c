// A page of a shop with a <table-explorer>.

import type { SiteOptions } from "./server.ts";

const html = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>A shop</title>
<link rel="stylesheet" href="/page.css"></head>
<body><main><h1>A shop</h1><table-explorer table="lamps"></table-explorer></main><script type="module" src="/page.js"></script></body></html>`;
const css =
  ":root { color-scheme: light dark; } body { margin: 1rem; background: Canvas; color: CanvasText; font-family: system-ui; }";

/** `script`: of the page, a module. */
export function explorerPage(script: string): NonNullable<SiteOptions["override"]> {
  const responses: Record<string, { status?: number; type?: string; body: string }> = {
    "/": { body: html },
    "/page.css": { type: "text/css", body: css },
    "/page.js": { type: "text/javascript", body: script },
    "/favicon.ico": { status: 204, body: "" },
  };
  return (path) => responses[path];
}
