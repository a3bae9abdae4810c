// The user interface.

import { type FormEvent, useCallback, useEffect, useRef, useState } from "react";
import { type Change, type Item, type NewItem, type ShoppingList, statusOf } from "./list.ts";
import type { Watch } from "./offline-list.ts";

const pageSize = 20;
const pageSizeMax = 1000; // of the service
const pancakes: NewItem[] = [
  { name: "Eggs", amount: 4 },
  { name: "Flour", amount: 1 },
  { name: "Milk", amount: 2 },
];

/** `watch`: the list can change without this page. */
export function App({ list, watch }: { list: ShoppingList; watch?: Watch }) {
  const [message, setMessage] = useState("");
  const fail = useCallback((error: unknown) => setMessage(explain(error)), []);
  const { items, next, setItems, show } = useItems(list, fail, watch);

  const attempt = useCallback(async (work: () => Promise<string>) => {
    setMessage(await work().catch(explain));
  }, []);

  useEffect(() => void attempt(() => show()), [attempt, show]);

  const add = (...added: NewItem[]) =>
    attempt(async () => {
      await list.add(...added);
      await show();
      return `Added: ${added.map(({ name }) => name).join(", ")}.`;
    });

  const change = (item: Item, mine: Change) =>
    attempt(async () => {
      const changed = await list.change(item, mine);
      setItems((shown) => shown.map((one) => (one === item ? changed.item : one)));
      return changed.theirs === undefined ? "" : describeChange(item, changed.theirs);
    });

  return (
    <main>
      <h1>Shopping</h1>
      <AddForm onAdd={add} />
      <button type="button" onClick={() => add(...pancakes)}>
        Add all for pancakes
      </button>
      <p role="status">{message}</p>
      <ul>
        {items.map((item) => (
          <Line key={item.name} item={item} onChange={(mine) => change(item, mine)} />
        ))}
      </ul>
      {next !== undefined && (
        <button type="button" onClick={() => attempt(() => show(next))}>
          More
        </button>
      )}
    </main>
  );
}

/** The items that are shown: the first pages of the list. `fail` shows errors of `watch`. */
function useItems(list: ShoppingList, fail: (error: unknown) => void, watch?: Watch) {
  const [items, setItems] = useState<Item[]>([]);
  const [next, setNext] = useState<string>();

  const show = useCallback(
    async (from?: string) => {
      const page = await list.page(pageSize, from);
      setItems((shown) => (from === undefined ? page.items : [...shown, ...page.items]));
      setNext(page.next);
      return "";
    },
    [list],
  );

  const shown = useRef(0);
  shown.current = items.length;
  useEffect(() => {
    let reads = 0;
    const showAgain = async (): Promise<void> => {
      reads += 1;
      const read = reads;
      const size = Math.min(Math.max(pageSize, shown.current), pageSizeMax);
      const page = await list.page(size);
      if (read !== reads) return; // a later read has begun
      if (page.next !== undefined && shown.current > size && size < pageSizeMax) return showAgain();
      setItems(page.items);
      setNext(page.next);
    };
    return watch?.(() => void showAgain().catch(fail));
  }, [list, fail, watch]);

  return { items, next, setItems, show };
}

function AddForm({ onAdd }: { onAdd: (item: NewItem) => void }) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    onAdd({ name: String(new FormData(form).get("name")), amount: 1 });
    form.reset();
  };
  return (
    <form onSubmit={submit}>
      <input name="name" aria-label="Name" required />
      <button type="submit">Add</button>
    </form>
  );
}

function Line({ item, onChange }: { item: Item; onChange: (mine: Change) => void }) {
  const { name, amount, done } = item;
  return (
    <li aria-label={name}>
      <label>
        <input
          type="checkbox"
          checked={done}
          onChange={(event) => onChange({ done: event.target.checked })}
        />
        {name}
      </label>{" "}
      <b>{amount}</b>{" "}
      <button
        type="button"
        aria-label={`Another ${name}`}
        onClick={() => onChange({ amount: amount + 1 })}
      >
        +
      </button>
    </li>
  );
}

function describeChange({ name }: Item, { amount, done }: Change): string {
  const what = [];
  if (amount !== undefined) what.push(`changed the amount to ${amount}`);
  if (done !== undefined) what.push(done ? "ticked it" : "unticked it");
  return `${name}: another user ${what.join(" and ")} in the meantime. Both changes were saved.`;
}

function explain(error: unknown): string {
  switch (statusOf(error)) {
    case 403:
      return "Your access to the list has expired. Ask for a new link.";
    case 404:
      return "Another user has removed this item from the list.";
    case 409:
      return "This item is already on the list. Nothing was added.";
    case 503:
      return "The list is busy. Try again in a moment.";
    case undefined:
      return "There is no connection. Your change was probably not saved.";
    default:
      return `The request failed: ${error instanceof Error ? error.message : String(error)}`;
  }
}
