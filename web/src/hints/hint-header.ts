// The header of an error response that has the hint. The body is the service's, which sends no
// hints; clients ignore unknown headers.

const unitsMax = 1024;

export const hintHeader: string = "x-entitable-hint";

type HeaderList = readonly (readonly [name: string, value: string])[];

export function withHintHeader<R extends { headers: HeaderList }>(
  response: R,
  hint: string | undefined,
): R {
  if (hint === undefined) return response;
  // A header has only ASCII.
  const text = hint.replace(/[^ -~]/g, (unit) => {
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
  const cut = text.slice(0, unitsMax);
  // without part of an escape sequence at the end
  const value = text === cut ? text : cut.replace(/\\(?:u\w{0,3})?$/, "");
  return { ...response, headers: [...response.headers, [hintHeader, value]] };
}
