// The application of the contract in Vue. (contract.ts describes it.)

import { StoreProvider, useEntity, useLive, useStore } from "entitable/vue";
import { createApp, createSSRApp, defineComponent, h, shallowRef } from "vue";
import { rendered, shown } from "./rendered.js";

const component = (props, setup) => defineComponent(setup, { props });

const Row = component(["id", "note"], (props) => () => {
  rendered(`${props.id} row ${props.note.rowKey}`);
  return h("li", props.note.text);
});

function rows(id, { status, error, data }) {
  return [
    h("p", { class: "status" }, shown(id, status)),
    h("p", { class: "error" }, error?.code ?? error?.name),
    h(
      "ul",
      data?.map((note) => h(Row, { key: note.rowKey, id, note })),
    ),
  ];
}

const List = component(["id", "open", "filter"], (props) => {
  const stores = useStore();
  const result = useLive(() => props.open(stores.value.store, props.filter));
  return () => {
    rendered(props.id);
    return rows(props.id, result.value);
  };
});

const Query = component(["id", "query"], (props) => {
  const result = useLive(props.query);
  return () => {
    rendered(props.id);
    return rows(props.id, result.value);
  };
});

const Entity = component(["id", "table", "rowKey"], (props) => {
  const stores = useStore();
  const entity = useEntity(
    () => props.table ?? stores.value.store?.table("notes"),
    "p",
    () => props.rowKey,
  );
  return () => {
    rendered(props.id);
    return h("p", entity.value.data?.text ?? entity.value.status);
  };
});

const Parent = component(["id", "open", "child"], (props) => {
  const stores = useStore();
  const result = useLive(() => props.open(stores.value.store));
  return () => {
    rendered(props.id);
    return result.value.data?.length > 0 ? h(Part, { part: props.child }) : undefined;
  };
});

const Named = component(["id", "name", "options"], (props) => {
  const opened = useStore(() => props.name, props.options);
  return () => {
    const { status, store, error } = opened.value;
    return h("p", store?.name ?? error?.code ?? status);
  };
});

const parts = { list: List, query: Query, entity: Entity, parent: Parent, named: Named };

const Part = component(["part"], (props) => () => {
  const { kind, ...inputs } = props.part;
  return h("div", { id: inputs.id }, h(parts[kind], inputs));
});

export const App = component(["inputs"], (props) => () => {
  const { store, name, options, parts } = props.inputs.value;
  return h(StoreProvider, { store, name, options }, () =>
    parts.map((part) => h(Part, { key: part.id, part })),
  );
});

export function mount(target, inputs, { isHydrated = false } = {}) {
  const given = shallowRef(inputs);
  const create = isHydrated ? createSSRApp : createApp;
  const app = create(() => h(App, { inputs: { value: given.value } }));
  app.mount(target);
  return {
    update: (next) => {
      given.value = next;
    },
    unmount: () => app.unmount(),
  };
}
