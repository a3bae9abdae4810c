// The versions of an entity whose write has lost a conflict, side by side.

import type { LostWrite, SyncEntity } from "../start-sync/types.ts";
import type { Dom } from "./dom.ts";

/** Also these are passed, so that bundlers leave them in the file of the changes. */
export type SyncDom = Dom &
  Pick<typeof import("./changes-values.ts"), "areEqual" | "differingTexts">;

type Version = SyncEntity | undefined;

/** A table with a line for each property. The base has a column if it is known. */
export function comparisonOf(dom: SyncDom, lost: LostWrite): HTMLElement {
  const { h } = dom;
  const { isRemoteKnown: isKnown, local, remote } = lost;
  const base = baseOf(lost);
  const titles = [
    "Property",
    ...(base.isKnown ? [base.entity ? "Base" : "Base (absent)"] : []),
    local ? "Local" : "Local (deleted)",
    remote ? "Remote" : isKnown ? "Remote (absent)" : "Remote (not known)",
  ];
  // Where it is not known what the remote has, nothing is said about a difference.
  const compared = isKnown ? remote : base.isKnown ? base.entity : local;
  const rows = propertyNames([base.entity, local, remote]).map((name) => {
    const values = [base.entity, local, compared].map((version) => version?.[name]);
    const difference = differenceOf(dom, base.isKnown, values);
    const [baseText, localText, remoteText] = textsOf(dom, values);
    const texts = [baseText, localText, isKnown ? remoteText : ""];
    const cells = base.isKnown ? texts : texts.slice(1);
    const mark = difference && h("span", { class: "badge differs" }, difference);
    return h(
      "tr",
      { class: difference === undefined ? "same" : "differs" },
      h("th", { scope: "row" }, name, mark && " ", mark),
      ...cells.map((text) => h("td", {}, text)),
    );
  });
  const heads = titles.map((title) => h("th", { scope: "col" }, title));
  const table = h("table", {}, h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...rows));
  const label = `Versions of ${lost.rowKey}`;
  return h("div", { class: "values", tabindex: "0", role: "region", "aria-label": label }, table);
}

/** A write that created the entity has an absent base. Of others, an absent base is not known. */
function baseOf({ base, kind }: LostWrite): { isKnown: boolean; entity: Version } {
  return { isKnown: base !== undefined || kind === "create", entity: base };
}

function propertyNames(versions: readonly Version[]): string[] {
  const names = new Set(versions.flatMap((version) => Object.keys(version ?? {})));
  return [...names].filter((name) => name !== "partitionKey" && name !== "rowKey");
}

/** Undefined: the versions have the same value. */
function differenceOf(
  { areEqual }: SyncDom,
  hasBase: boolean,
  [base, local, remote]: readonly unknown[],
) {
  const isLocal = hasBase && !areEqual(base, local);
  const isRemote = hasBase && !areEqual(base, remote);
  if (isLocal && isRemote) return areEqual(local, remote) ? "same change" : "changed by both";
  if (isLocal) return "changed here";
  if (isRemote) return "changed there";
  return areEqual(local, remote) ? undefined : "differs";
}

/** Long values are cut around the first difference of the local and the remote one. */
function textsOf(dom: SyncDom, [base, local, remote]: readonly unknown[]): string[] {
  const { areEqual, differingTexts, valueText } = dom;
  const [localText, remoteText] = areEqual(local, remote)
    ? [local, remote].map((value) => textOf(valueText, value))
    : differingTexts(valueText, local, remote);
  const baseText = areEqual(base, local) ? localText : differingTexts(valueText, base, local)[0];
  return [baseText ?? "", localText ?? "", remoteText ?? ""];
}

const textMax = 200; // UTF-16 units

function textOf(valueText: Dom["valueText"], value: unknown): string {
  const text = value === undefined ? "" : valueText(value);
  return text.length > textMax ? `${text.slice(0, textMax)}…` : text;
}
