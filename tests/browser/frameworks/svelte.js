// The application of the contract in Svelte. (contract.ts describes it.)

import { hydrate, mount as mountComponent, unmount } from "svelte";
import App from "./svelte/App.svelte";

export function mount(target, inputs, { isHydrated = false } = {}) {
  const show = isHydrated ? hydrate : mountComponent;
  const app = show(App, { target, props: { inputs } });
  return { update: (next) => app.update(next), unmount: () => void unmount(app) };
}
