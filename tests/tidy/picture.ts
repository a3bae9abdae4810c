// The picture of the rooms, read from the code blocks of ARCHITECTURE.md:
//
//     core/index            uses model             a room, and the rooms it was given; what those use, it may use too
//       leaf  leaf_split    what they are          its files in the order of dependency, by name without ending
//
// A block is opened by ```rooms (C++, arrows are inherited) or ```web (TypeScript, arrows are not).

export interface Room {
  readonly name: string;
  readonly uses: readonly string[];
  /** File names without ending, each after those it may include. */
  readonly files: readonly string[];
}

export type Picture = ReadonlyMap<string, Room>;

export const pictureFile = "ARCHITECTURE.md";

export function parsePicture(markdown: string, block: "rooms" | "web"): Picture {
  const lines = fenced(markdown, block);
  const rooms = new Map<string, { name: string; uses: string[]; files: string[] }>();
  let room: { name: string; uses: string[]; files: string[] } | undefined;
  for (const line of lines) {
    const opening = /^(\S+) +uses (.+)$/.exec(line);
    const files = /^ {2}(\S+(?: \S+)*)(?: {2,}.*)?$/.exec(line);
    if (opening?.[1] && opening[2]) {
      const uses = opening[2] === "nothing" ? [] : opening[2].split(/, */);
      room = { name: opening[1], uses, files: [] };
      rooms.set(room.name, room);
    } else if (files?.[1] && room) {
      room.files.push(...files[1].split(" "));
    } else if (line.trim() !== "") {
      throw new Error(`${pictureFile}: neither a room nor files of one: ${line}`);
    }
  }
  return rooms;
}

function fenced(markdown: string, block: string): string[] {
  const match = new RegExp(`^\`\`\`${block}\n(.*?)^\`\`\`$`, "ms").exec(markdown);
  if (!match?.[1]) throw new Error(`${pictureFile} has no \`\`\`${block} block`);
  return match[1].split("\n");
}

/** What a room may use: itself, the rooms it was given, and all that those may use. */
export function reach(picture: Picture, name: string): Set<string> {
  const reached = new Set<string>();
  const visit = (next: string) => {
    if (reached.has(next)) return;
    reached.add(next);
    for (const used of picture.get(next)?.uses ?? []) visit(used);
  };
  visit(name);
  return reached;
}
