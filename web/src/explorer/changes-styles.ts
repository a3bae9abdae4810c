// The styles of the panel "Changes", in addition to baseStyles.

export const changesStyles = `
:host { container-type: inline-size; }
.tabs { display: flex; gap: 0.25rem; padding: 0.5rem 0.9rem 0; border-bottom: 1px solid var(--_line); }
.tabs button {
  background: transparent; border-color: transparent; border-radius: 0; margin-bottom: -1px;
  border-bottom: 3px solid transparent; color: var(--_muted); padding-inline: 0.6rem;
}
.tabs button[aria-selected="true"] { color: var(--_text); border-bottom-color: var(--_accent); }
.changes { background: var(--_surface); display: grid; grid-template-columns: minmax(0, 1fr); }
.changes .title { font-weight: 650; margin-inline-end: auto; }
.changes .bar {
  display: flex; flex-wrap: wrap; gap: 0.5rem; align-items: center; padding: 0.75rem 0.9rem;
}
.changes label { font-size: 0.8125rem; color: var(--_muted); }
.changes select {
  font: inherit; font-size: 0.9rem; color: var(--_text); background: var(--_surface);
  border: 1px solid var(--_control, light-dark(#7f8c8b, #6f8183)); border-radius: var(--_radius);
  padding: 0.2rem 0.4rem; min-height: 2rem; height: 2rem; width: auto; max-width: 14rem;
}
.changes button[aria-pressed="true"] {
  background: var(--_accent); border-color: var(--_accent); color: var(--_on-accent);
}
.changes button.small { padding: 0.15rem 0.5rem; }
.changes .muted { margin: 0; color: var(--_muted); font-size: 0.875rem; }
.changes [role="status"] { padding: 0 0.9rem 0.5rem; }
.changes [role="status"]:empty { padding: 0; }
.missed { font-size: 0.8125rem; color: var(--_muted); }
.missed:empty { display: none; }
.commits-scroll {
  height: var(--entitable-grid-height, 24rem); border-block: 1px solid var(--_line);
}
.commits-scroll:focus-visible, .queries-scroll:focus-visible { outline-offset: -2px; }
.commits-scroll > .muted { padding: 0.9rem; }
.commits, .changed-rows { list-style: none; margin: 0; padding: 0; }
.commits > li { border-bottom: 1px solid var(--_line); font-size: 0.875rem; }
.commits summary, .gap {
  display: grid; grid-template-columns: 10rem 6.5rem 5.5rem minmax(4rem, 1fr) minmax(0, 2fr);
  gap: 0.1rem 0.75rem; align-items: baseline; padding: 0.35rem 0.9rem;
}
.commits summary { cursor: pointer; }
.commits summary:hover, .commits details[open] > summary { background: var(--_sunken); }
.commits summary:focus-visible { outline-offset: -2px; }
.gap { grid-template-columns: minmax(0, 1fr); color: var(--_bad); background: var(--_bad-soft); }
.sequence { white-space: nowrap; }
.sequence, .commits time { font-variant-numeric: tabular-nums; }
.sequence::before {
  content: "▸"; content: "▸" / ""; display: inline-block; width: 1.1em; color: var(--_muted);
}
details[open] > summary .sequence::before { content: "▾"; content: "▾" / ""; }
.commits time, .origin { color: var(--_muted); }
.names { font-weight: 600; overflow-wrap: anywhere; }
.counts { display: flex; flex-wrap: wrap; gap: 0.3rem; }
.badge {
  display: inline-block; padding: 0 0.45rem; border-radius: 1rem; border: 1px solid currentcolor;
  font-size: 0.8125rem; line-height: 1.5; white-space: nowrap; color: var(--_muted);
}
.badge.insert, .badge.create { color: var(--_accent); }
.badge.update { color: var(--_text); }
.badge.delete { color: var(--_bad); }
.changed-rows > li { padding: 0.5rem 0.9rem 0.5rem 2rem; }
.changed-rows p { margin: 0; overflow-wrap: anywhere; }
.changed-rows code, .queries code { font: 0.8125rem/1.5 var(--_mono); overflow-wrap: anywhere; }
.changed-rows .values { overflow: auto; }
.changed-rows table { margin-top: 0.25rem; }
.changed-rows td {
  font: 0.8125rem/1.5 var(--_mono); white-space: pre-wrap; overflow-wrap: anywhere;
}
.changed-rows td.before { color: var(--_muted); }
.commits details > button, .commits details > .muted { margin: 0 0.9rem 0.6rem 2rem; }
.queries .title { display: block; padding: 0.75rem 0.9rem; }
.queries > .muted { padding: 0 0.9rem 0.9rem; }
.queries-scroll { max-height: 16rem; }
.queries table { width: 100%; }
.queries th, .queries td { padding: 0.35rem 0.9rem; }
.query-text { min-width: 14rem; }
.delta { white-space: nowrap; }
@container (max-width: 46rem) {
  .commits summary { grid-template-columns: auto auto auto minmax(0, 1fr); }
  .commits summary .names { grid-column: 1 / -1; padding-inline-start: 1.1em; }
  .commits summary .counts { grid-column: 1 / -1; padding-inline-start: 1.1em; }
  .changed-rows > li { padding-inline-start: 0.9rem; }
  .changes .bar .title { flex-basis: 100%; }
  .changes select { max-width: 7rem; }
  .query-text { min-width: 6.3rem; }
  .queries th, .queries td { padding-inline: 0.35rem; }
  .queries th:first-child, .queries td:first-child { padding-inline-start: 0.9rem; }
  .delta { white-space: normal; }
}
`;
