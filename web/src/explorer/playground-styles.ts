// The styles of <table-playground>, in addition to baseStyles.

export const playgroundStyles = `
:host {
  --_comment: light-dark(#5d6b60, #93a398); --_string: light-dark(#7d4a05, #e6b673);
  --_number: light-dark(#7b3fa0, #cfa6f0); --_keyword: light-dark(#0b5f8a, #7cc4ee);
}
.frame {
  border: 1px solid var(--_line); border-radius: var(--_radius); background: var(--_surface);
  overflow: clip;
}
.code {
  overflow: auto; background: var(--_sunken); max-height: var(--entitable-code-height, none);
}
.layers { display: grid; }
.code:focus-within { box-shadow: inset 0 0 0 2px var(--_accent); }
.layers > * {
  grid-area: 1 / 1; margin: 0; padding: 0.9rem 1rem; border: 0; min-width: 0; letter-spacing: 0;
  font: var(--entitable-code-size, 0.8438rem)/1.6 var(--_mono); tab-size: 2; white-space: pre-wrap;
  overflow-wrap: break-word;
}
textarea {
  display: block; width: 100%; height: 100%; resize: none; overflow: hidden; outline: 0;
  background: transparent;
  color: transparent; caret-color: var(--_text); -webkit-text-fill-color: transparent;
}
textarea::selection { background: color-mix(in srgb, var(--_accent) 30%, transparent); }
.code .comment { color: var(--_comment); font-style: italic; }
.code .string { color: var(--_string); }
.code .number { color: var(--_number); }
.code .keyword { color: var(--_keyword); }
.bar {
  display: flex; flex-wrap: wrap; gap: 0.6rem; align-items: center; padding: 0.6rem 1rem;
  border-top: 1px solid var(--_line);
}
.bar [role="status"] { color: var(--_muted); font-size: 0.875rem; margin-inline-start: auto; }
.output {
  container-type: inline-size; display: grid; grid-template-columns: minmax(0, 1fr); gap: 0.9rem;
  padding: 0.9rem 1rem 1rem; border-top: 1px solid var(--_line);
}
.output:empty { display: none; }
.cost { display: flex; flex-wrap: wrap; gap: 0.5rem 1.6rem; margin: 0; }
.cost dt { color: var(--_muted); font-size: 0.75rem; line-height: 1.3; }
.cost dd { margin: 0; font-weight: 650; font-variant-numeric: tabular-nums; }
.cost [data-kind="table"] dd, .cost [data-figure="Rejected"] dd { color: var(--_bad); }
.cost [data-kind="point"] dd, .cost [data-kind="range"] dd { color: var(--_accent); }
.shown { min-width: 0; }
.scroll { max-height: 27rem; }
.shown table { min-width: min(100%, 24rem); }
.shown thead th { position: sticky; top: 0; background: var(--_surface); }
/* A cell is as wide as its text up to a limit, then the text wraps; nothing is cut off. */
.shown td > div {
  display: inline-block; width: max-content; max-width: 28rem; overflow-wrap: break-word;
  vertical-align: top;
}
.shown td.key > div { max-width: 34rem; }
.shown .pairs td { overflow-wrap: anywhere; }
.shown :is(th, td):last-child { padding-right: 0; }
@container (max-width: 32rem) {
  .shown table { font-size: 0.8rem; }
  .shown thead th { white-space: normal; }
  .shown td > div { width: auto; max-width: 80cqi; }
  .shown td.key { font-size: 0.75rem; }
  .shown :is(th, td):not(:last-child) { padding-right: 0.4rem; }
}
.caption { margin: 0 0 0.2rem; font-weight: 600; font-size: 0.9rem; }
.value { margin: 0; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
.muted { margin: 0.3rem 0 0; color: var(--_muted); font-size: 0.875rem; }
.error .hint { display: block; margin-top: 0.25rem; }
`;
