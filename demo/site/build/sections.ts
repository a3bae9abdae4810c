// Finds the headings and the sections of a page's HTML, for its outline and for the search.

export interface Heading {
  /**
   * 2 to 4; 1 is the page itself; 5 is a folded declaration of the API reference, or a code in a
   * table of codes.
   */
  readonly level: number;
  /** The fragment of its URL. */
  readonly id: string;
  /** HTML without tags. */
  readonly title: string;
}

export interface Section extends Heading {
  /** The text below the heading, up to the next one: HTML without tags. */
  readonly text: string;
}

// Every heading contains a link to itself.
const heading = /<h([234])[^>]*><a class="anchor" href="#([^"]+)">(.*?)<\/a><\/h\1>/gs;
const codes = /<td id="([^"]+)"><code>(\w+)<\/code><\/td>/g;
const folded = /<details class="declaration" id="([^"]+)">(?:<summary>.*?<\/summary>)/gs;

/** Returns the headings of the second and third level. */
export function headingsOf(html: string): Heading[] {
  return [...html.matchAll(heading)]
    .map(([, level, id = "", title = ""]) => ({ level: Number(level), id, title: textOf(title) }))
    .filter(({ level }) => level < 4);
}

/**
 * Returns the sections of a page. The first one, with the id "", is the text above the
 * headings.
 */
export function sectionsOf(html: string, title: string): Section[] {
  const headings = [...html.matchAll(heading)].map((match) => {
    const [whole, level, id = "", inner = ""] = match;
    return {
      level: Number(level),
      id,
      title: textOf(inner),
      from: match.index,
      length: whole.length,
    };
  });
  const declarations = [...html.matchAll(folded)].map((match) => {
    const [whole, id = ""] = match;
    return { level: 5, id, title: id, from: match.index, length: whole.length };
  });
  const rows = [...html.matchAll(codes)].map((match) => {
    const [whole, id = "", title = ""] = match;
    return { level: 5, id, title, from: match.index, length: whole.length };
  });
  const found = [...headings, ...declarations, ...rows].sort((a, b) => a.from - b.from);
  const sections = found.map(({ level, id, title, from, length }, index) => {
    const text = html.slice(from + length, found[index + 1]?.from);
    // The code of a folded declaration has the names of its members.
    return { level, id, title, text: textOf(level === 5 ? text : withoutCode(text)) };
  });
  return [
    { level: 1, id: "", title, text: textOf(withoutCode(html.slice(0, found[0]?.from))) },
    ...sections,
  ];
}

function withoutCode(html: string): string {
  return html.replace(/<pre\b.*?<\/pre>/gs, " ");
}

function textOf(html: string): string {
  return html
    .replace(/<\/(p|li|td|th|h\d|summary)>/g, " ")
    .replace(/<[^>]+>/g, "")
    .replace(/\s+/g, " ")
    .trim();
}
