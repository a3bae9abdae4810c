// The application of the contract in React. (contract.ts describes it.)

import { StoreProvider, useEntity, useLive, useStore, useSuspenseLive } from "entitable/react";
import { Component, memo, StrictMode, Suspense } from "react";
import { createRoot, hydrateRoot } from "react-dom/client";
import { rendered, shown } from "./rendered.js";

const Row = memo(({ id, note }) => {
  rendered(`${id} row ${note.rowKey}`);
  return <li>{note.text}</li>;
});

function Rows({ id, result }) {
  return (
    <>
      <p className="status">{shown(id, result.status)}</p>
      <p className="error">{result.error?.code ?? result.error?.name}</p>
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

function Suspended({ id, query, open, queryKey = [] }) {
  return (
    <Boundary>
      <Suspense fallback={<p>suspended</p>}>
        <Ready id={id} query={query} open={open} queryKey={queryKey} />
      </Suspense>
    </Boundary>
  );
}

function Ready({ id, query, open, queryKey }) {
  rendered(id);
  const { store } = useStore();
  const notes = useSuspenseLive(query ?? (() => open(store)), [store, ...queryKey]);
  return <p>{notes.map(({ text }) => text).join()}</p>;
}

class Boundary extends Component {
  state = { error: undefined };

  static getDerivedStateFromError(error) {
    return { error };
  }

  render() {
    const { error } = this.state;
    return error ? <p>{error.code ?? error.name}</p> : this.props.children;
  }
}

const parts = {
  list: List,
  query: Query,
  entity: Entity,
  parent: Parent,
  named: Named,
  suspended: Suspended,
};

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

export function mount(target, inputs, { isStrict = false, isHydrated = false } = {}) {
  const app = (given) =>
    isStrict ? (
      <StrictMode>
        <App {...given} />
      </StrictMode>
    ) : (
      <App {...given} />
    );
  const report = { onRecoverableError: (error) => console.error(String(error)) };
  const root = isHydrated ? hydrateRoot(target, app(inputs), report) : createRoot(target, report);
  if (!isHydrated) root.render(app(inputs));
  return { update: (next) => root.render(app(next)), unmount: () => root.unmount() };
}

export const hasStrictMode = true;
export const hasSuspense = true;
