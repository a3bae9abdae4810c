// The application of the contract in Preact. (contract.ts describes it.)

import { StoreProvider, useEntity, useLive, useStore } from "entitable/preact";
import { Component, hydrate, render } from "preact";
import { rendered, shown } from "./rendered.js";

class Row extends Component {
  shouldComponentUpdate({ note }) {
    return note !== this.props.note;
  }

  render({ id, note }) {
    rendered(`${id} row ${note.rowKey}`);
    return <li>{note.text}</li>;
  }
}

function Rows({ id, result }) {
  return (
    <>
      <p class="status">{shown(id, result.status)}</p>
      <p class="error">{result.error?.code ?? result.error?.name}</p>
      <ul>
        {result.data?.map((note) => (
          <Row key={note.rowKey} id={id} note={note} />
        ))}
      </ul>
    </>
  );
}

function List({ id, open, filter }) {
  rendered(id);
  const { store } = useStore();
  const result = useLive(() => open(store, filter), [store, filter]);
  return <Rows id={id} result={result} />;
}

function Query({ id, query }) {
  rendered(id);
  return <Rows id={id} result={useLive(query)} />;
}

function Entity({ id, table, rowKey }) {
  rendered(id);
  const { store } = useStore();
  const { status, data } = useEntity(table ?? store?.table("notes"), "p", rowKey);
  return <p>{data?.text ?? status}</p>;
}

function Parent({ id, open, child }) {
  rendered(id);
  const { store } = useStore();
  const { data } = useLive(() => open(store), [store]);
  return data?.length > 0 && <Part part={child} />;
}

function Named({ name, options }) {
  const { status, store, error } = useStore(name, options);
  return <p>{store?.name ?? error?.code ?? status}</p>;
}

const parts = { list: List, query: Query, entity: Entity, parent: Parent, named: Named };

function Part({ part }) {
  const { kind, ...inputs } = part;
  const Named = parts[kind];
  return (
    <div id={part.id}>
      <Named {...inputs} />
    </div>
  );
}

export function App({ store, name, options, parts }) {
  return (
    <StoreProvider store={store} name={name} options={options}>
      {parts.map((part) => (
        <Part key={part.id} part={part} />
      ))}
    </StoreProvider>
  );
}

export function mount(target, inputs, { isHydrated = false } = {}) {
  const show = (next) => render(<App {...next} />, target);
  if (isHydrated) hydrate(<App {...inputs} />, target);
  else show(inputs);
  return { update: show, unmount: () => render(null, target) };
}
