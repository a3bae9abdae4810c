// Arrows of the C++ side, against the picture in ARCHITECTURE.md.

import { dirname } from "node:path";
import { type Picture, parsePicture, pictureFile, reach } from "../picture.ts";
import { findings, matching, type Repository } from "../repository.ts";

const sources = /^(core\/\w+|bindings)\/\w+\.(h|cc)$/;
const include = /^#include "([^"]+)"$/gm;

interface Place {
  readonly room: string;
  readonly file: string;
}

function placeOf(path: string): Place {
  const file = path.slice(path.lastIndexOf("/") + 1).replace(/\.\w+$/, "");
  return { room: dirname(path), file };
}

function pictureOf(repository: Repository): Picture {
  return parsePicture(repository.text.get(pictureFile) ?? "", "rooms");
}

/** An include goes to a room that the including one may use; inside a room, to a file listed above. */
export function arrowsGoDown(repository: Repository): string[] {
  const picture = pictureOf(repository);
  const complaints: string[] = [];
  for (const [path, text] of matching(repository, sources)) {
    const from = placeOf(path);
    const allowed = reach(picture, from.room);
    for (const [, target] of text.matchAll(include)) {
      if (target === undefined) continue;
      const to = placeOf(target);
      if (!allowed.has(to.room)) {
        complaints.push(`${path}: ${from.room} may not use ${to.room}: ${target}`);
      } else if (to.room === from.room && to.file !== from.file) {
        const order = picture.get(from.room)?.files ?? [];
        if (order.indexOf(to.file) > order.indexOf(from.file)) {
          complaints.push(`${path}: ${to.file} is listed below ${from.file} in ${pictureFile}`);
        }
      }
    }
  }
  return complaints;
}

/** The picture names every file, and no other. */
export function pictureIsComplete(repository: Repository): string[] {
  const picture = pictureOf(repository);
  const present = new Map<string, Set<string>>();
  for (const [path] of matching(repository, sources)) {
    const { room, file } = placeOf(path);
    present.set(room, (present.get(room) ?? new Set()).add(file));
  }
  const complaints: string[] = [];
  for (const [room, files] of present) {
    const listed = new Set(picture.get(room)?.files);
    for (const file of files.difference(listed)) {
      complaints.push(`${room}/${file}: not in ${pictureFile}`);
    }
  }
  for (const room of picture.values()) {
    const files = present.get(room.name) ?? new Set();
    for (const file of new Set(room.files).difference(files)) {
      complaints.push(`${pictureFile}: there is no ${room.name}/${file}`);
    }
  }
  return complaints;
}

/** The libraries are linked as the picture says. */
export function linksFollowPicture(repository: Repository): string[] {
  const cmake = repository.text.get("core/CMakeLists.txt") ?? "";
  const linked = new Map<string, string>();
  for (const [, room, uses] of cmake.matchAll(/^entitable_room\((\w+) ?([\w ]*)\)$/gm)) {
    linked.set(`core/${room}`, [...(uses ?? "").split(" ").filter(Boolean)].sort().join(", "));
  }
  const complaints: string[] = [];
  for (const { name, uses } of pictureOf(repository).values()) {
    if (!name.startsWith("core/")) continue;
    const drawn = uses
      .map((used) => used.replace("core/", ""))
      .sort()
      .join(", ");
    if (linked.get(name) !== drawn) {
      complaints.push(`core/CMakeLists.txt: ${name} links [${linked.get(name)}], drawn [${drawn}]`);
    }
  }
  return complaints;
}

/** Only bindings know Emscripten. */
export function onlyBindingsKnowEmscripten(repository: Repository): string[] {
  return [...matching(repository, /^core\/.*\.(h|cc)$/)].flatMap(([path, text]) =>
    findings(path, text, /emscripten|\bEM_[A-Z]+/i, "only bindings/ know Emscripten"),
  );
}

/** The core has no clock, no randomness, no I/O, no threads, and prints nothing. */
export function coreIsPure(repository: Repository): string[] {
  const impure =
    /#include <(iostream|ostream|istream|fstream|sstream|cstdio|stdio\.h|chrono|ctime|time\.h|random|thread|mutex|atomic|future|filesystem)>|\bstd::(cout|cerr|clog|rand)\b|\bs?n?printf\(/;
  return [...matching(repository, /^core\/.*\.(h|cc)$/)].flatMap(([path, text]) =>
    findings(path, text, impure, "the core is a pure function"),
  );
}
