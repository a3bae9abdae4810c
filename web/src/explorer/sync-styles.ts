// The styles of the panel "Sync", in addition to baseStyles, explorerStyles and changesStyles.

export const syncStyles = `
.sync { background: var(--_surface); display: grid; grid-template-columns: minmax(0, 1fr); }
.sync .title { font-weight: 650; margin-inline-end: auto; }
.sync .bar {
  display: flex; flex-wrap: wrap; gap: 0.5rem; align-items: center; padding: 0.75rem 0.9rem;
}
.sync > .error { margin: 0 0.9rem 0.75rem; }
.sync button[aria-pressed="true"] {
  background: var(--_accent); border-color: var(--_accent); color: var(--_on-accent);
}
.sync .muted { margin: 0; color: var(--_muted); font-size: 0.875rem; }
.synced-table, .costs { border-top: 1px solid var(--_line); }
.synced-table > .title, .costs > .title { display: block; padding: 0.6rem 0.9rem 0.35rem; }
.synced-table > .error { margin: 0 0.9rem 0.75rem; }
.network {
  display: flex; flex-wrap: wrap; gap: 0.5rem; align-items: center; padding: 0.75rem 0.9rem;
  border-top: 1px solid var(--_line); background: var(--_sunken);
}
.network .title { flex-basis: 100%; }
.network .muted { flex-basis: 100%; }
.network select { width: auto; }
.item-list { border-top: 1px solid var(--_line); }
.item-list:focus-visible { outline-offset: -2px; }
.item-list > .bar { padding-block: 0.6rem; }
.item-list > .muted { padding: 0 0.9rem 0.75rem; }
.item-list > .scroll { max-height: var(--entitable-grid-height, 24rem); }
.item-list > .scroll:focus-visible { outline-offset: -2px; }
.item-list .changed-rows > li { padding-inline-start: 0.9rem; border-top: 1px solid var(--_line); }
.item-list summary { cursor: pointer; font-size: 0.875rem; padding-block: 0.2rem; width: fit-content; }
.item-actions { display: flex; flex-wrap: wrap; gap: 0.5rem; padding-top: 0.4rem; }
.keys-of-suspects { margin: 0.25rem 0; padding-inline-start: 1.2rem; }
.values .badge { font-weight: 400; }
.values tr.differs td { color: var(--_text); }
.values tr.same td { color: var(--_muted); }
.badge.differs { color: var(--_bad); }
.badge.edit { color: var(--_text); }
@container (max-width: 46rem) {
  .sync .values .badge { display: block; width: fit-content; white-space: normal; }
  .sync .values th, .sync .values td { padding-inline-end: 0.5rem; }
  .sync .values th { white-space: normal; overflow-wrap: anywhere; }
}
`;
