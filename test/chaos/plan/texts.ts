/** The facts that a text of the run contains. */
export type Label = {
  readonly marker: string;
  /** From 1. */
  readonly part: number;
  readonly parts: number;
  /** 1, plus one for each edit of the texts. */
  readonly version: number;
};

/** A unique text that can be recognized anywhere. Plain letters, so that no network changes it. */
export const textOf = ({ marker, part, parts, version }: Label): string =>
  `Chaos ${marker} part ${part} of ${parts}, version ${version}. The weather is fine today.`;

const pattern =
  /Chaos (?<marker>[a-z0-9\-]+) part (?<part>\d+) of (?<parts>\d+), version (?<version>\d+)\./gv;

/** The labels of the texts in a request or response body, in order. */
export function labelsIn(body: string): Label[] {
  return [...body.matchAll(pattern)].map(({ groups = {} }) => ({
    marker: groups['marker'] ?? '',
    part: Number(groups['part']),
    parts: Number(groups['parts']),
    version: Number(groups['version']),
  }));
}

/** All texts of a post. */
export const textsOf = (marker: string, parts: number, version: number): string[] =>
  Array.from({ length: parts }, (_, index) => textOf({ marker, part: index + 1, parts, version }));
