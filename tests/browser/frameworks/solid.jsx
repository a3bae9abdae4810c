// The application of the contract in Solid. (contract.ts describes it.)

import { StoreProvider, useEntity, useLive, useStore } from "entitable/solid";
import { createEffect, createSignal, For, Show } from "solid-js";
import { Dynamic, hydrate, render } from "solid-js/web";
import { rendered, shown } from "./rendered.js";

function Row(props) {
  rendered(`${props.id} row ${props.note.rowKey}`);
  return <li>{props.note.text}</li>;
}

// In Solid, components run once. What runs again is each effect that reads the result.
function Rows(props) {
  createEffect(() => {
    props.result();
    rendered(props.id);
  });
  return (
    <>
      <p class="status">{shown(props.id, props.result().status)}</p>
      <p class="error">{props.result().error?.code ?? props.result().error?.name}</p>
      <ul>
        <For each={props.result().data}>{(note) => <Row id={props.id} note={note} />}</For>
      </ul>
    </>
  );
}

function List(props) {
  const stores = useStore();
  const result = useLive(() => props.open(stores().store, props.filter));
  return <Rows id={props.id} result={result} />;
}

function Query(props) {
  const result = useLive(props.query);
  return <Rows id={props.id} result={result} />;
}

function Entity(props) {
  const stores = useStore();
  const entity = useEntity(
    () => props.table ?? stores().store?.table("notes"),
    "p",
    () => props.rowKey,
  );
  createEffect(() => {
    entity();
    rendered(props.id);
  });
  return <p>{entity().data?.text ?? entity().status}</p>;
}

function Parent(props) {
  const stores = useStore();
  const result = useLive(() => props.open(stores().store));
  createEffect(() => {
    result();
    rendered(props.id);
  });
  return (
    <Show when={result().data?.length > 0}>
      <Part part={props.child} />
    </Show>
  );
}

function Named(props) {
  const opened = useStore(() => props.name, props.options);
  return <p>{opened().store?.name ?? opened().error?.code ?? opened().status}</p>;
}

const parts = { list: List, query: Query, entity: Entity, parent: Parent, named: Named };

function Part(props) {
  return (
    <div id={props.part.id}>
      <Dynamic component={parts[props.part.kind]} {...props.part} />
    </div>
  );
}

export function App(props) {
  return (
    <StoreProvider
      store={props.inputs.store}
      name={props.inputs.name}
      options={props.inputs.options}
    >
      <For each={props.inputs.parts}>{(part) => <Part part={part} />}</For>
    </StoreProvider>
  );
}

export function mount(target, inputs, { isHydrated = false } = {}) {
  const [given, setGiven] = createSignal(inputs);
  const show = isHydrated ? hydrate : render;
  const dispose = show(() => <App inputs={given()} />, target);
  const unmount = () => {
    dispose();
    target.textContent = "";
  };
  return { update: setGiven, unmount };
}
