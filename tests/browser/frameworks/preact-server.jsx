import { renderToString } from "preact-render-to-string";
import { App } from "./preact.jsx";

export const render = async (inputs) => renderToString(<App {...inputs} />);
