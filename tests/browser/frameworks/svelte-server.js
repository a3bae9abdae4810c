import { render as renderComponent } from "svelte/server";
import App from "./svelte/App.svelte";

export const render = async (inputs) => renderComponent(App, { props: { inputs } }).body;
