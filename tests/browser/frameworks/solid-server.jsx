import { generateHydrationScript, renderToString } from "solid-js/web";
import { App } from "./solid.jsx";

export const head = generateHydrationScript();
export const render = async (inputs) => renderToString(() => <App inputs={inputs} />);
