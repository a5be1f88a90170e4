import twitterText from '../../runtime/twitter-text.ts';
import { countGraphemes, measuredOnce } from '../validation/texts.ts';

/** The library takes quadratic time to find links: 30 ms for the slowest texts within these limits. */
const mostForLibrary = { characters: 1000, units: 2500 };

/** How much of a text beyond these limits is weighed, in UTF-16 units. */
const maxWeighed = 10_000;

/**
 * Exact up to 1000 characters, not counting the paths of links. A text that X accepts has 280, and 2100 UTF-16 units,
 * because an emoji has up to 15. In longer texts, links with other words directly before or after them may count in
 * full, and from 10,000 units on, each unit counts 1.
 *
 * Source: X's own library twitter-text, configuration version 3.
 */
export const weightedLength = measuredOnce((text) => {
  const short = forLibrary(text);
  if (isForLibrary(short)) {
    return weigh(short);
  }

  // The library does not search for links in a text without dots.
  const plain = short.replaceAll('.', ',');
  return weigh(plain.slice(0, maxWeighed)) + Math.max(0, plain.length - maxWeighed);
});

/** Only for a text that is not too long. */
export const hasLink = (text: string): boolean =>
  twitterText.extractUrls(forLibrary(text)).length > 0;

const weigh = (text: string): number => twitterText.parseTweet(text).weightedLength;

const forLibrary = (text: string): string => (isForLibrary(text) ? text : withShortLinks(text));

const isForLibrary = (text: string): boolean =>
  text.length <= mostForLibrary.units && countGraphemes(text) <= mostForLibrary.characters;

/** The library's limit for a link plus its protocol. */
const maxLink = 4096;

/** The library's types misspell one name. */
type Patterns = typeof twitterText.regexen & { readonly validUrlQueryEndingChars: RegExp };
const regexen = twitterText.regexen as Patterns;
const [ofPath, balanced, ofPathEnd, ofQuery, ofQueryEnd] = [
  regexen.validGeneralUrlPathChars.source,
  regexen.validUrlBalancedParens.source,
  regexen.validUrlPathEndingChars.source,
  regexen.validUrlQueryChars.source,
  regexen.validUrlQueryEndingChars.source,
];

const path = `${ofPath}*(?:${balanced}${ofPath}*)*(?!\\()(?:${ofPathEnd})`;

/**
 * A possible link. Not one of X's own, because only the library knows how long their paths are.
 *
 * The end of a query must not compose with an accent that follows. Without the flags u and v, like the library's own
 * patterns.
 */
const possibleLink = new RegExp(
  String.raw`((?<![\w\/?=&])(https?:\/\/)[^\s\/?:]{1,100}(?::\d+)?|(?<=^|[\s\(\),'])[\w.\-]{4,100})(?<!\bt\.co)` +
    `(\\/(?:${path})?(?:${balanced})*)?` +
    String.raw`(\?${ofQuery}*${ofQueryEnd}(?![\u0300-\u036F]))?`,
  'gi',
);

const withShortLinks = (text: string): string =>
  text.replaceAll(
    possibleLink,
    (link: string, start: string, protocol = 'https://', inPath = '', query = '', at: number) => {
      const short = start + (inPath && '/a') + (query && '?a');
      const before = text.slice(Math.max(0, at - 1), at);
      return short.length < link.length &&
        protocol.length + link.length <= maxLink &&
        twitterText.extractUrls(before + short).includes(short)
        ? short
        : link;
    },
  );
