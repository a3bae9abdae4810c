// The styles that both custom elements share. A page adjusts them by custom properties
// (--entitable-…) and by CSS parts. Light and dark follow the page's `color-scheme`.

export const baseStyles = `
:host {
  --_accent: var(--entitable-accent, light-dark(#0b6e69, #5cc8bf));
  --_on-accent: var(--entitable-on-accent, light-dark(#ffffff, #06211f));
  --_text: var(--entitable-text, light-dark(#1b2426, #e4eaea));
  --_muted: var(--entitable-muted, light-dark(#56646a, #9fb0b3));
  --_surface: var(--entitable-surface, light-dark(#ffffff, #12191b));
  --_sunken: var(--entitable-sunken, light-dark(#f3f6f5, #0c1213));
  --_line: var(--entitable-line, light-dark(#d5dddc, #2a3638));
  --_bad: var(--entitable-bad, light-dark(#a8201f, #ff9d94));
  --_bad-soft: var(--entitable-bad-soft, light-dark(#fdeeec, #33191a));
  --_font: var(--entitable-font, system-ui, sans-serif);
  --_mono: var(--entitable-mono, ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace);
  --_radius: var(--entitable-radius, 6px);
  display: block;
  color: var(--_text);
  font: 1rem/1.5 var(--_font);
}
:host([hidden]), [hidden] { display: none !important; }
*, *::before, *::after { box-sizing: border-box; }
:focus-visible { outline: 2px solid var(--_accent); outline-offset: 2px; }
button {
  font: inherit; font-size: 0.9rem; font-weight: 600; line-height: 1.3; color: var(--_text);
  background: var(--_surface); border: 1px solid var(--_line); border-radius: var(--_radius);
  padding: 0.35rem 0.85rem; min-height: 2rem; cursor: pointer;
}
button:hover { border-color: var(--_accent); }
button:disabled, button[aria-disabled="true"] {
  cursor: default; color: var(--_muted); border-color: var(--_line);
}
button.primary {
  background: var(--_accent); border-color: var(--_accent); color: var(--_on-accent);
}
button.primary:disabled, button.primary[aria-disabled="true"] {
  background: var(--_sunken); border-color: var(--_line); color: var(--_muted);
}
.error {
  background: var(--_bad-soft); color: var(--_bad); border-radius: var(--_radius);
  padding: 0.6rem 0.8rem; overflow-wrap: anywhere;
}
.error strong { display: block; }
table { border-collapse: collapse; font-size: 0.875rem; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--_muted); white-space: nowrap; }
th, td {
  padding: 0.25rem 0.75rem 0.25rem 0; border-bottom: 1px solid var(--_line); vertical-align: top;
}
td.number, th.number { text-align: right; }
td.key { font-family: var(--_mono); font-size: 0.8125rem; }
/* Scroll shadows: an edge with more content behind it has a shadow. The local backgrounds scroll
   with the content and cover the shadow at its end. */
.scroll {
  --_shade: color-mix(in srgb, var(--_text) 26%, transparent);
  overflow: auto; background:
    linear-gradient(to right, var(--_surface) 40%, transparent) left / 2rem 100% no-repeat local,
    linear-gradient(to left, var(--_surface) 40%, transparent) right / 2rem 100% no-repeat local,
    linear-gradient(to bottom, var(--_surface) 40%, transparent) top / 100% 2rem no-repeat local,
    linear-gradient(to top, var(--_surface) 40%, transparent) bottom / 100% 2rem no-repeat local,
    linear-gradient(to right, var(--_shade), transparent) left / 0.75rem 100% no-repeat scroll,
    linear-gradient(to left, var(--_shade), transparent) right / 0.75rem 100% no-repeat scroll,
    linear-gradient(to bottom, var(--_shade), transparent) top / 100% 0.75rem no-repeat scroll,
    linear-gradient(to top, var(--_shade), transparent) bottom / 100% 0.75rem no-repeat scroll,
    var(--_surface);
}
`;
