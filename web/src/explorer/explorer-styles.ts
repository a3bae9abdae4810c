// The styles of <table-explorer>, in addition to baseStyles.

export const explorerStyles = `
:host {
  container-type: inline-size;
  --_mark: color-mix(in srgb, var(--_bad) 22%, transparent);
  --_flash: color-mix(in srgb, var(--_accent) 32%, transparent);
}
.frame {
  display: grid; grid-template-columns: minmax(10rem, 14rem) minmax(0, 1fr);
  border: 1px solid var(--_line); border-radius: var(--_radius); background: var(--_surface);
  overflow: clip;
}
.tables {
  display: flex; flex-direction: column; gap: 0.6rem; padding: 0.9rem; background: var(--_sunken);
  border-inline-end: 1px solid var(--_line);
}
.tables ul {
  list-style: none; margin: 0; padding: 0; display: grid; gap: 2px; overflow: auto;
  max-height: 32rem;
}
.tables li button {
  display: flex; gap: 0.6rem; width: 100%; justify-content: space-between; text-align: start;
  font-weight: 500;
  background: transparent; border-color: transparent; padding: 0.3rem 0.6rem;
}
.tables li button:hover { background: var(--_surface); border-color: var(--_line); }
.tables li button[aria-current] {
  background: var(--_surface); border-color: var(--_accent); font-weight: 650;
}
.tables li button .name { overflow-wrap: anywhere; }
.rows { color: var(--_muted); font-variant-numeric: tabular-nums; font-weight: 400; }
.rest { min-width: 0; }
.rest > .error { margin: 0.9rem; }
.rest > .error p { margin: 0 0 0.6rem; }
.empty { padding: 2.5rem 1rem; text-align: center; color: var(--_muted); }
.table { display: grid; grid-template-columns: minmax(0, 1fr); }
.bar { display: flex; flex-wrap: wrap; gap: 0.5rem; align-items: center; }
.table > .bar { padding: 0.75rem 0.9rem; border-bottom: 1px solid var(--_line); }
.bar .name { font-weight: 650; margin-inline-end: auto; overflow-wrap: anywhere; }
.table > .bar .name { font-size: 1.125rem; }
button.small { padding: 0.15rem 0.5rem; }
button.danger { color: var(--_bad); }
button.danger:hover { border-color: var(--_bad); }
label { display: block; font-size: 0.8125rem; color: var(--_muted); }
input, select, textarea {
  font: inherit; font-size: 0.9375rem; line-height: 1.4; color: var(--_text);
  background: var(--_surface);
  border: 1px solid var(--_control, light-dark(#7f8c8b, #6f8183)); border-radius: var(--_radius);
  padding: 0.35rem 0.6rem; width: 100%; min-height: 2.125rem; min-width: 0;
}
select { height: 2.125rem; }
.property:not(:first-child) label {
  position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
}
input[readonly] { background: var(--_sunken); }
input[aria-invalid], textarea[aria-invalid] {
  border-color: var(--_bad); box-shadow: 0 0 0 1px var(--_bad);
}
.query {
  display: grid; grid-template-columns: minmax(0, 5fr) minmax(7rem, 2fr) 6rem auto;
  gap: 0.4rem 0.75rem; align-items: start;
  padding: 0.75rem 0.9rem;
}
.query > button { margin-top: 1.28rem; }
.filter input, .select input { font-family: var(--_mono); font-size: 0.875rem; }
.combo { position: relative; }
[role="listbox"] {
  position: absolute; z-index: 2; inset-inline: 0; top: calc(100% + 3px); margin: 0;
  padding: 0.25rem; list-style: none; max-height: 16rem; overflow: auto;
  background: var(--_surface); border: 1px solid var(--_line); border-radius: var(--_radius);
  box-shadow: 0 8px 24px light-dark(#1b242626, #00000080);
}
[role="option"] {
  display: flex; justify-content: space-between; gap: 1rem; padding: 0.25rem 0.5rem;
  border-radius: 4px; cursor: pointer;
}
[role="option"] code {
  font: 0.8438rem/1.5 var(--_mono); white-space: pre; overflow: hidden; text-overflow: ellipsis;
}
[role="option"] .detail { color: var(--_muted); font-size: 0.8125rem; white-space: nowrap; }
[role="option"]:hover { background: var(--_sunken); }
[role="option"][aria-selected="true"] { background: var(--_accent); color: var(--_on-accent); }
[role="option"][aria-selected="true"] .detail { color: inherit; }
.where {
  margin-top: 0.35rem; padding: 0.3rem 0.6rem; font: 0.875rem/1.6 var(--_mono);
  white-space: pre-wrap; overflow-wrap: anywhere; color: var(--_muted);
}
.where mark {
  background: var(--_mark); color: var(--_bad); text-decoration: underline wavy;
  text-underline-offset: 0.25em; border-radius: 2px;
}
.table .error { margin: 0 0.9rem 0.75rem; }
.plan { display: flex; flex-wrap: wrap; gap: 0.4rem 1.6rem; margin: 0; padding: 0 0.9rem 0.75rem; }
.plan dt { color: var(--_muted); font-size: 0.75rem; line-height: 1.3; }
.plan dd { margin: 0; font-weight: 650; font-variant-numeric: tabular-nums; }
.plan [data-figure="Plan"][data-kind="table"] dd { color: var(--_bad); }
.plan [data-figure="Plan"][data-kind="point"] dd, .plan [data-figure="Plan"][data-kind="range"] dd {
  color: var(--_accent);
}
.plan .ranges { flex-basis: 100%; }
.plan .ranges dd { font: 0.8125rem/1.5 var(--_mono); overflow-wrap: anywhere; }
.plan .measure { flex-basis: 100%; }
.meter {
  position: relative; height: 0.4rem; border-radius: 0.2rem; background: var(--_sunken);
  box-shadow: inset 0 0 0 1px var(--_line); overflow: clip;
}
.meter div {
  position: absolute; inset-block: 0; inset-inline-start: 0;
  background: light-dark(#d9a441, #a97c2a);
}
.meter .returned { background: var(--_accent); }
.warnings { margin: 0; padding: 0 0.9rem 0.75rem 2rem; color: var(--_muted); font-size: 0.875rem; }
.grid {
  overflow-anchor: none;
  height: var(--entitable-grid-height, 24rem); border-block: 1px solid var(--_line);
}
.grid table { min-width: 100%; border-collapse: separate; border-spacing: 0; }
.grid th { position: sticky; top: 0; z-index: 1; background: var(--_sunken); color: var(--_text); }
.grid th, .grid td {
  vertical-align: baseline; padding: 0.375rem 0.75rem; white-space: pre; max-width: 22rem;
  overflow: hidden; text-overflow: ellipsis;
}
.grid .spacer td { padding: 0; border: 0; }
.grid th .type { font-weight: 400; color: var(--_muted); font-size: 0.75rem; }
.grid tbody tr[data-row] { cursor: pointer; }
.grid tbody tr[data-row]:hover { background: var(--_sunken); }
.grid tbody tr:focus-visible { outline-offset: -2px; }
.foot {
  display: flex; gap: 1rem; align-items: center; justify-content: space-between;
  padding: 0.6rem 0.9rem; min-height: 3.25rem; color: var(--_muted); font-size: 0.9rem;
}
.foot .problem { color: var(--_bad); }
.foot button { white-space: nowrap; flex: none; }
.unseen {
  position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
  white-space: nowrap;
}
.muted { margin: 0; color: var(--_muted); font-size: 0.9rem; }
dialog {
  width: min(44rem, calc(100vw - 2rem)); max-height: calc(100dvh - 2rem); padding: 0;
  color: var(--_text); background: var(--_surface);
  border: 1px solid var(--_line); border-radius: calc(var(--_radius) + 4px);
  box-shadow: 0 20px 60px light-dark(#1b242640, #000000b0);
}
dialog { scroll-padding-bottom: 5rem; } /* keeps focused fields clear of the sticky buttons */
dialog::backdrop { background: light-dark(#1b242659, #000000a6); }
dialog form {
  display: grid; gap: 0.9rem; padding: 1.1rem 1.25rem 0; grid-template-columns: minmax(0, 1fr);
}
dialog h2 { margin: 0; font-size: 1.1875rem; line-height: 1.3; overflow-wrap: anywhere; }
dialog p { margin: 0; }
.actions {
  display: flex; flex-wrap: wrap; gap: 0.5rem; position: sticky; bottom: 0;
  background: var(--_surface); padding: 0.75rem 0 1.1rem; border-top: 1px solid var(--_line);
}
.actions .gap { flex: 1; }
.keys { display: grid; grid-template-columns: repeat(auto-fit, minmax(14rem, 1fr)); gap: 0.75rem; }
.keys input, .property input, .property textarea { font-family: var(--_mono); font-size: 0.875rem; }
.facts { color: var(--_muted); font-size: 0.8125rem; overflow-wrap: anywhere; }
.properties { display: grid; gap: 0.5rem; }
.properties:empty { display: none; }
.property {
  display: grid; grid-template-columns: minmax(6rem, 2fr) 7rem minmax(8rem, 4fr) 2.125rem;
  gap: 0.5rem; align-items: start;
}
.property textarea { field-sizing: content; max-height: 12rem; resize: vertical; display: block; }
.property .remove { margin-top: 0;  padding: 0; min-height: 2.125rem; }
.property:first-child .remove { margin-top: 1.22rem; }
.note { display: block; color: var(--_muted); font-size: 0.8125rem; margin-top: 0.2rem; }
.problem { display: block; color: var(--_bad); font-size: 0.8125rem; }
.report:empty { display: none; }
.rejections { max-height: 14rem; margin-top: 0.5rem; }
.rejections td { overflow-wrap: anywhere; }
@container (max-width: 46rem) {
  .frame { grid-template-columns: minmax(0, 1fr); }
  .tables { border-inline-end: 0; border-block-end: 1px solid var(--_line); }
  .tables ul { max-height: 11rem; }
  .tables > button { justify-self: start; align-self: start; }
  .query { grid-template-columns: minmax(0, 1fr) 6rem auto; }
  .query .filter { grid-column: 1 / -1; }
}
@media (max-width: 40rem) {
  .property { grid-template-columns: minmax(0, 1fr) 7rem 2.125rem; }
  .property > .field:nth-of-type(3) { grid-column: 1 / -1; order: 1; }
  .property:not(:first-child) { border-top: 1px solid var(--_line); padding-top: 0.75rem; }
}
@media (prefers-reduced-motion: no-preference) { button { transition: border-color 0.12s; } }
`;
