// Style sheets that are constructed in script, which every Content-Security-Policy allows.

const sheets = new WeakMap<Document, Map<string, CSSStyleSheet>>();

/**
 * Gives the shadow root these styles. A style sheet belongs to a document, so this must be repeated
 * when the root has moved to another one.
 */
export function adoptStyles(root: ShadowRoot, styles: readonly string[]): void {
  root.adoptedStyleSheets = styles.map((css) => sheetOf(root.ownerDocument, css));
}

function sheetOf(owner: Document, css: string): CSSStyleSheet {
  const known = sheets.get(owner) ?? new Map<string, CSSStyleSheet>();
  sheets.set(owner, known);
  let sheet = known.get(css);
  if (sheet === undefined) {
    sheet = new (owner.defaultView?.CSSStyleSheet ?? CSSStyleSheet)();
    sheet.replaceSync(css);
    known.set(css, sheet);
  }
  return sheet;
}
