// The header of an error response that has the hint. The body is the service's, which sends no
// hints; clients ignore unknown headers.

export const hintHeader = "x-entitable-hint";

type HeaderList = readonly (readonly [name: string, value: string])[];

export function withHintHeader<R extends { headers: HeaderList }>(
  response: R,
  hint: string | undefined,
): R {
  if (hint === undefined) return response;
  // A header has only ASCII.
  const value = hint.replace(/[^ -~]/g, (unit) => {
    return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
  return { ...response, headers: [...response.headers, [hintHeader, value]] };
}
