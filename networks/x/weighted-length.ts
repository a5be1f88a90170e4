import twitterText from 'twitter-text';
import { measuredOnce } from '../validation/texts.ts';
import { findLinks, type Link } from './find-links.ts';

const linkLength = 23;
/** In UTF-16 code units, with a reserve: a kiss of two people with skin tones has 15. */
const longestEmoji = 20;
/**
 * Limit after links are shortened. An emoji has up to 15 units and counts 2, so 280 characters have at most 2100 units.
 */
const maxExact = 10_000;
/**
 * `normalize` takes quadratic time for consecutive accents: 0.4 s for 50,000. A text with that many exceeds X's limit,
 * unless they are in several links with little else.
 */
const maxAccentSquares = 5000 ** 2;

/**
 * The length of a text for X: a link counts 23; an emoji or a Chinese, Japanese or Korean character counts 2.
 *
 * Exact for every text of up to 10,000 UTF-16 code units, with each link as 23 units. Beyond that, units are counted,
 * which never makes a text short enough. Linear time: some 20 ms for the slowest texts of 50,000 units.
 *
 * The library takes quadratic time only to find links, so it gets a text in which links are already replaced.
 *
 * Source: X's own library twitter-text, configuration version 3.
 */
export const weightedLength = measuredOnce((text) => {
  if (hasTooManyAccents(text)) {
    return text.length;
  }

  const normal = text.normalize();
  let short = '';
  let shortened = 0;
  for (const link of findLinks(normal)) {
    if (short.length > maxExact) {
      break;
    }

    short += normal.slice(shortened, link.start) + filler(linkLength);
    shortened = link.end;
    const broken = brokenBy(normal, link);
    short += filler([...broken].reduce((sum, character) => sum + weigh(character), 0));
    shortened += broken.length;
  }

  short += normal.slice(shortened);
  return weigh(short.slice(0, maxExact)) + Math.max(0, short.length - maxExact);
});

function hasTooManyAccents(text: string): boolean {
  let squares = 0;
  for (const [accents] of text.matchAll(/\p{M}+/gv)) {
    squares += accents.length ** 2;
  }

  return squares > maxAccentSquares;
}

/** Each underscore counts 1, and never combines with its neighbours. */
const filler = (length: number): string => '_'.repeat(length);

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** The rest of an emoji in which a link ends; the library counts each of its characters. */
function brokenBy(text: string, { start, end }: Link): string {
  const [rest = ''] = /^[^\p{ASCII}\x80-\u036F]+/v.exec(text.slice(end, end + longestEmoji)) ?? [];
  if (rest === '') {
    return '';
  }

  const at = end - start;
  const emoji = segmenter.segment(text.slice(start, end) + rest).containing(at);
  return emoji && emoji.index < at ? emoji.segment.slice(at - emoji.index) : '';
}

/** For a text with replaced links: without dots, the library does not search for more. */
const weigh = (text: string): number =>
  twitterText.parseTweet(text.replaceAll('.', ',')).weightedLength;
