// Style sheets that are constructed in script, which every Content-Security-Policy allows.

/**
 * Adds styles to the shadow root, and keeps those that it has. A style sheet belongs to a document:
 * when the root moves to another one, it has no styles.
 */
export function addStyles(root: ShadowRoot, ...styles: readonly string[]): void {
  const Sheet = root.ownerDocument.defaultView?.CSSStyleSheet ?? CSSStyleSheet;
  const added = styles.map((css) => {
    const sheet = new Sheet();
    sheet.replaceSync(css);
    return sheet;
  });
  root.adoptedStyleSheets = [...root.adoptedStyleSheets, ...added];
}
