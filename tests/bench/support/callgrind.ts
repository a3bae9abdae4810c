// Reads callgrind's output (--compress-strings=no): the cost of each function itself, and how often
// it is called.

export interface Profile {
  total: number; // instructions
  self: Map<string, number>; // by function
  calls: Map<string, number>;
}

export function readProfile(text: string): Profile {
  const profile: Profile = { total: 0, self: new Map(), calls: new Map() };
  const add = (map: Map<string, number>, name: string, n: number) =>
    map.set(name, (map.get(name) ?? 0) + n);
  let current = "";
  let called = "";
  let ofCall = false; // the next cost is that of a call, inclusive
  for (const line of text.split("\n")) {
    if (line.startsWith("fn=")) current = line.slice(3);
    else if (line.startsWith("cfn=")) called = line.slice(4);
    else if (line.startsWith("calls=")) {
      add(profile.calls, called, Number(/^calls=(\d+)/.exec(line)?.[1]));
      ofCall = true;
    } else if (line.startsWith("summary:")) profile.total = Number(line.split(" ")[1]);
    else if (/^[\d+*-]/.test(line)) {
      if (!ofCall) add(profile.self, current, Number(line.split(" ")[1] ?? 0));
      ofCall = false;
    }
  }
  return profile;
}

// Returns a function's name without its parameters.
export function shortName(name: string): string {
  const plain = name
    .replace(/'\d+$/, "")
    .replace(/\(anonymous namespace\)::/g, "")
    .replace(/std::__cxx11::/g, "std::")
    .replace(/\bentitable::/g, "");
  let depth = 0;
  let kept = "";
  for (const letter of plain.replace(/operator<</g, "operator‹‹").replace(/->/g, "→")) {
    if (letter === "(" || letter === "<") ++depth;
    if (depth === 0) kept += letter;
    if (letter === ")" || letter === ">") --depth;
  }
  return kept.replace(/^.* (?=\S+::\S)/, "").replace(/ const$/, "");
}
