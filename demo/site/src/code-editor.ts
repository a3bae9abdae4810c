// The editor of runnable code blocks: CodeMirror with a few extensions that help with ten lines of
// JavaScript. It is loaded when a reader focuses the code of a block. Tab moves the focus, as
// elsewhere on a page. The editor uses the CSS classes of the text area that it replaces, so the
// appearance does not change.
import { autocompletion, completeAnyWord, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { javascriptLanguage } from "@codemirror/lang-javascript";
import {
  bracketMatching,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from "@codemirror/language";
import { EditorState, type Extension, Prec } from "@codemirror/state";
import { EditorView, keymap } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { CodeEditor, CodeEditorOptions, CodeSelection } from "entitable/explorer";

const colours = HighlightStyle.define([
  { tag: tags.comment, class: "comment" },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], class: "string" },
  { tag: tags.number, class: "number" },
  { tag: [tags.keyword, tags.bool, tags.null, tags.self], class: "keyword" },
]);

const look = EditorView.theme({
  "&": { fontSize: "var(--entitable-code-size, 0.8438rem)" },
  "&.cm-focused": { outline: "none" }, // the code block draws the focus outline
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6", overflow: "visible" },
  ".cm-content": { padding: "0.9rem 0", caretColor: "currentColor" },
  ".cm-line": { padding: "0 1rem" },
  "&.cm-focused .cm-matchingBracket": {
    background: "none",
    outline: "1px solid var(--accent)",
  },
  ".cm-tooltip": { background: "var(--surface)", border: "1px solid var(--line)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "0.35rem 0.6rem" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    background: "var(--accent)",
    color: "var(--on-accent)",
  },
});

// When a reader types over a selection, Chromium keeps the old formatting in a `style` attribute. A
// strict Content-Security-Policy forbids that, and Chromium logs a violation. So insert it here.
const replaceSelectionOnTyping = EditorView.domEventHandlers({
  beforeinput: ({ inputType, data, isComposing }, view) => {
    const isTyped = inputType === "insertText" && data !== null && !isComposing;
    if (!isTyped || view.state.selection.main.empty) return false;
    const userEvent = "input.type";
    view.dispatch(view.state.replaceSelection(data), { userEvent, scrollIntoView: true });
    return true;
  },
});

const always: Extension = [
  history(),
  javascriptLanguage,
  syntaxHighlighting(colours),
  indentOnInput(),
  bracketMatching(),
  // Enter inserts a new line unless the reader has selected a completion with the arrow keys.
  autocompletion({
    override: [completeAnyWord],
    selectOnOpen: false,
    interactionDelay: 0,
    icons: false,
  }),
  keymap.of([...completionKeymap, ...historyKeymap, ...defaultKeymap]),
  EditorState.tabSize.of(2),
  EditorView.lineWrapping,
  EditorView.contentAttributes.of({ "aria-label": "Code" }),
  replaceSelectionOnTyping,
  look,
];

export function codeEditor({ value, root, onChange, onRun }: CodeEditorOptions): CodeEditor {
  const run = () => {
    onRun();
    return true;
  };
  const running = keymap.of([
    { key: "Ctrl-Enter", run },
    { key: "Meta-Enter", run },
  ]);
  const changes = EditorView.updateListener.of(({ docChanged, state }) => {
    if (docChanged) onChange(state.doc.toString());
  });
  const view = new EditorView({
    doc: value,
    root,
    extensions: [Prec.highest(running), changes, always],
  });
  const element = document.createElement("div");
  element.className = "code";
  element.part.add("code");
  element.append(view.dom);
  return {
    element,
    get value() {
      return view.state.doc.toString();
    },
    set value(text) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
    },
    get selection(): CodeSelection {
      const { from, to } = view.state.selection.main;
      return [from, to];
    },
    set selection([anchor, head]) {
      view.dispatch({ selection: { anchor, head } });
    },
    focus: () => view.focus(),
  };
}
