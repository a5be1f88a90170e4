import twitterText from 'twitter-text';
import {
  afterDomain,
  asciiDomains,
  domainEnding,
  domainUnit,
  labels,
  unitBefore,
} from './link-patterns.ts';

/** A range that X shortens: from `start` up to, but excluding, `end`, in UTF-16 code units. */
export type Link = { readonly start: number; readonly end: number };

/** A part of a domain that is followed by a dot. */
type Label = {
  readonly start: number;
  /** The position of the dot. */
  readonly end: number;
  /** The end of the longest domain that includes the next label; 0 for none. */
  readonly endBeyond: number;
  /** The end of the domain whose ending (`com`) follows the dot; 0 for none. */
  readonly endHere: number;
  /** The position of its last underscore. The label before the ending must have none. */
  readonly underscore: number;
};

/** A possible link whose lengths are not checked yet. */
type Candidate = Link & {
  readonly domainStart: number;
  readonly domainEnd: number;
  readonly hasPath: boolean;
};

const protocolBefore = /https?:\/\/$/iv;
const longestProtocol = 'https://';
/** The library's bounds: for a link plus its protocol, for a label in Punycode, and for the slug of a t.co link. */
const { maxLink, maxLabel, maxSlug } = { maxLink: 4096, maxLabel: 63, maxSlug: 40 };
const asciiOnly = /^[ -~]*$/v;
/** How many labels the library checks in one link, so that the link stays below its bound. */
const askedAtOnce = 30;

/**
 * The links of a text as X's library finds them, in linear time.
 *
 * The library tries every possible start of a link, and from each it reads all following labels with dots. That takes
 * quadratic time for `日.日.日.`, where every character is a possible start. This code first computes how far a domain
 * extends from each label. Labels, endings and paths are matched by the library's own patterns.
 *
 * Source: `extractUrlsWithIndices` of twitter-text 3.1.0
 *
 * @param text In the Unicode normal form C, as the library reads it.
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

/** The labels with which a domain may begin. */
function labelsOf(text: string): Label[] {
  const found: Label[] = [];
  let next: Label | undefined;
  for (const { 0: label, index: start } of [...text.matchAll(labels)].toReversed()) {
    const end = start + label.length;
    if (text[end] !== '.') {
      continue;
    }

    const isComplete = isDomainUnit(text, end - 1);
    const goesOn = isComplete && next?.start === end + 1 && isDomainUnit(text, next.start);
    next = {
      start,
      end,
      endBeyond: goesOn && next ? domainEndFrom(next, next.start) : 0,
      endHere: isComplete ? endOf(domainEnding, text, end + 1) : 0,
      underscore: start + label.lastIndexOf('_'),
    };
    found.push(next);
  }

  return found.toReversed().filter(({ endBeyond, endHere }) => endBeyond > 0 || endHere > 0);
}

/** The end of the longest domain that begins in a label; 0 for none. */
const domainEndFrom = ({ endBeyond, endHere, underscore }: Label, start: number): number =>
  endBeyond === 0 && start > underscore ? endHere : endBeyond;

const isDomainUnit = (text: string, at: number): boolean => domainUnit.test(text.charAt(at));

/** The end of a sticky pattern's match at a position; 0 for no match. */
function endOf(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : 0;
}

/** @param after The end of the previous link. */
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

/** At the start of a text, the library tries the second character before the first. */
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
  // Last, because it takes longest.
  return links.length > 0 && isDomain(domain) ? links : [];
}

/** A t.co link ends after its slug. */
function wholeLink(text: string, { start, end }: Candidate): Link[] {
  const [own, slug = ''] = twitterText.regexen.validTcoUrl.exec(text.slice(start, end)) ?? [];
  return slug.length > maxSlug
    ? []
    : [{ start, end: own === undefined ? end : start + own.length }];
}

/**
 * Without a protocol only ASCII domains are links, and the path belongs to the last of them.
 *
 * The library searches for their text, which may find an earlier place, and adds the length of the path there even if
 * other text is in between.
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
  // `matchAll` would copy the pattern, which contains all domain endings, on every call.
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

/** A Punycode label has at least as many characters as code points, and a code point has at most two code units. */
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
