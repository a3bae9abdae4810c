import { createSSRApp, h } from "vue";
import { renderToString } from "vue/server-renderer";
import { App } from "./vue.js";

export const render = (inputs) =>
  renderToString(createSSRApp(() => h(App, { inputs: { value: inputs } })));
