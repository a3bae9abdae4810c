import { renderToString } from "react-dom/server";
import { App } from "./react.jsx";

export const render = async (inputs) => renderToString(<App {...inputs} />);
