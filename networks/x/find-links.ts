import twitterText from 'twitter-text';
import {
  afterDomain,
  asciiDomains,
  domainEnding,
  domainUnit,
  labels,
  unitBefore,
} from './link-patterns.ts';

/** What X shortens: from `start` up to, and without, `end`, in UTF-16 code units. */
export type Link = { readonly start: number; readonly end: number };

/** A part of a domain, with the dot after it. */
type Label = {
  readonly start: number;
  /** Where the dot is. */
  readonly end: number;
  /** Where the longest domain ends that goes on through the next label; 0: none does. */
  readonly endBeyond: number;
  /** Where the domain ends whose ending (`com`) follows the dot; 0: none follows. */
  readonly endHere: number;
  /** Where its last underscore is. The label before the ending has none. */
  readonly underscore: number;
};

/** What looks like a link, before its lengths are looked at. */
type Candidate = Link & {
  readonly domainStart: number;
  readonly domainEnd: number;
  readonly hasPath: boolean;
};

const protocolBefore = /https?:\/\/$/iv;
const longestProtocol = 'https://';
/** The library's bounds: of a link with its protocol once more, of a label in Punycode, of what t.co has after its slash. */
const { maxLink, maxLabel, maxSlug } = { maxLink: 4096, maxLabel: 63, maxSlug: 40 };
const asciiOnly = /^[ -~]*$/v;
/** How many labels the library is asked about in one link: together they stay below its bound. */
const askedAtOnce = 30;

/**
 * The links of a text as X's library finds them, in linear time.
 *
 * The library tries each place where a link may begin, and from each goes through all labels with dots that follow. That
 * takes quadratic time for `日.日.日.`, where each character is such a place. Here it is found out beforehand how far a
 * domain goes from each label. What may be a label, an ending, a path, the library's own patterns say.
 *
 * Source: `extractUrlsWithIndices` of twitter-text 3.1.0
 *
 * @param text In the normal form C of Unicode, as the library looks at it.
 */
export function* findLinks(text: string): Generator<Link> {
  let after = 0;
  for (const label of labelsOf(text)) {
    const candidate = candidateIn(text, label, after);
    if (candidate) {
      yield* linksIn(text, candidate);
      after = candidate.end;
    }
  }
}

/** Those that a domain may begin with. */
function labelsOf(text: string): Label[] {
  const found: Label[] = [];
  let next: Label | undefined;
  for (const { 0: label, index: start } of [...text.matchAll(labels)].toReversed()) {
    const end = start + label.length;
    if (text[end] !== '.') {
      continue;
    }

    const isWhole = isDomainUnit(text, end - 1);
    const goesOn = isWhole && next?.start === end + 1 && isDomainUnit(text, next.start);
    next = {
      start,
      end,
      endBeyond: goesOn && next ? domainEndFrom(next, next.start) : 0,
      endHere: isWhole ? endOf(domainEnding, text, end + 1) : 0,
      underscore: start + label.lastIndexOf('_'),
    };
    found.push(next);
  }

  return found.toReversed().filter(({ endBeyond, endHere }) => endBeyond > 0 || endHere > 0);
}

/** Where the longest domain ends that begins in a label; 0: there is none. */
const domainEndFrom = ({ endBeyond, endHere, underscore }: Label, start: number): number =>
  endBeyond === 0 && start > underscore ? endHere : endBeyond;

const isDomainUnit = (text: string, at: number): boolean => domainUnit.test(text.charAt(at));

/** Where a sticky pattern ends that is tried at a place; 0: it does not match. */
function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : 0;
}

/** @param after Where the link before ended. */
function candidateIn(text: string, label: Label, after: number): Candidate | undefined {
  const before = text.slice(Math.max(0, label.start - longestProtocol.length), label.start);
  const protocol = protocolBefore.exec(before)?.[0] ?? '';
  if (protocol !== '' && isPlace(text, label.start - protocol.length, after)) {
    const candidate = candidateFrom(text, label, label.start, protocol);
    if (candidate) {
      return candidate;
    }
  }

  for (const start of placesIn(label, after)) {
    const candidate = isPlace(text, start, after) && candidateFrom(text, label, start);
    if (candidate) {
      return candidate;
    }
  }

  return undefined;
}

/** The library tries a link after the first character of a text before one that is there from the beginning. */
function* placesIn({ start, end }: Label, after: number): Generator<number> {
  if (start === 0) {
    yield* [1, 0];
  }

  for (let place = Math.max(start, after); place < end; place += 1) {
    yield place;
  }
}

const isPlace = (text: string, start: number, after: number): boolean =>
  start === 0 || (start > after && unitBefore.test(text.charAt(start - 1)));

function candidateFrom(
  text: string,
  label: Label,
  domainStart: number,
  protocol = '',
): Candidate | undefined {
  const domainEnd = isDomainUnit(text, domainStart) ? domainEndFrom(label, domainStart) : 0;
  if (domainEnd === 0) {
    return undefined;
  }

  afterDomain.lastIndex = domainEnd;
  const [rest = '', path] = afterDomain.exec(text) ?? [];
  const start = domainStart - protocol.length;
  const end = domainEnd + rest.length;
  return { start, domainStart, domainEnd, end, hasPath: path !== undefined };
}

function linksIn(text: string, candidate: Candidate): Link[] {
  const { start, domainStart, domainEnd, end } = candidate;
  const protocolLength = domainStart - start || longestProtocol.length;
  if (protocolLength + end - start > maxLink) {
    return [];
  }

  const domain = text.slice(domainStart, domainEnd);
  const links =
    domainStart > start ? wholeLink(text, candidate) : bareLinks(text, domain, candidate);
  // Asked last, as that takes longest.
  return links.length > 0 && isDomain(domain) ? links : [];
}

/** One of X's own (t.co) ends with its slug. */
function wholeLink(text: string, { start, end }: Candidate): Link[] {
  const [own, slug = ''] = twitterText.regexen.validTcoUrl.exec(text.slice(start, end)) ?? [];
  return slug.length > maxSlug
    ? []
    : [{ start, end: own === undefined ? end : start + own.length }];
}

/**
 * Without a protocol only domains of ASCII are links, and the path belongs to the last of them.
 *
 * The library looks for where they stand by what they say, which may be earlier, and takes the length of the path from
 * there even where something else stands between.
 */
function bareLinks(
  text: string,
  domain: string,
  { start: offset, domainEnd, end, hasPath }: Candidate,
): Link[] {
  if (/[\-_.\/]/v.test(text.charAt(offset - 1))) {
    return [];
  }

  const links: Link[] = [];
  let from = 0;
  // Not by `matchAll`: it copies the pattern, which has all endings, each time that it is called.
  asciiDomains.lastIndex = 0;
  for (let found = asciiDomains.exec(domain); found; found = asciiDomains.exec(domain)) {
    const start = domain.indexOf(found[0], from);
    from = start + found[0].length;
    links.push({ start: offset + start, end: offset + from });
  }

  const last = links.pop();
  const pathLength = hasPath ? end - domainEnd : 0;
  return last ? [...links, { start: last.start, end: last.end + pathLength }] : [];
}

const isDomain = (domain: string): boolean =>
  !(domain.startsWith('xn--') && domain.search(asciiDomains) < 0) && areShort(domain.split('.'));

/** In Punycode a label has no fewer characters than code points, each of which takes two code units at most. */
function areShort(parts: readonly string[]): boolean {
  const others = parts.filter((part) => !asciiOnly.test(part));
  if (parts.some((part) => part.length > (asciiOnly.test(part) ? maxLabel : 2 * maxLabel))) {
    return false;
  }

  for (let asked = 0; asked < others.length; asked += askedAtOnce) {
    const domain = ['a', ...others.slice(asked, asked + askedAtOnce), 'a.com'].join('.');
    if (twitterText.extractUrls(`https://${domain}`).length === 0) {
      return false;
    }
  }

  return true;
}
