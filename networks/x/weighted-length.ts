import twitterText from 'twitter-text';
import { measuredOnce } from '../validation/texts.ts';
import { findLinks, type Link } from './find-links.ts';

const linkLength = 23;
/** In UTF-16 code units, and some more: a kiss of two people with skin tones has 15. */
const longestEmoji = 20;
/** With its links shortened. An emoji has up to 15 units and counts 2, so a text of 280 has 2100 at most. */
const maxExact = 10_000;
/**
 * `normalize` takes quadratic time for accents one after the other: 0.4 s for 50,000. So many accents are too many for
 * X, unless they are in several links that hardly have anything else.
 */
const maxAccentSquares = 5000 ** 2;

/**
 * How long a text is for X: a link counts 23, an emoji 2, and so does a character of Chinese, Japanese or Korean.
 *
 * Exact for every text of up to 10,000 UTF-16 code units, each link being 23 of them. What goes beyond counts its units: it
 * is refused either way, and never counted as short. Linear time: some 20 ms for the slowest texts of 50,000.
 *
 * The library takes quadratic time only to find links, so it counts a text in which they are found and filled in already.
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

/** Each underscore counts 1, and goes together with nothing that stands beside it. */
const filler = (length: number): string => '_'.repeat(length);

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** The rest of an emoji in the middle of which a link ends: the library counts each character of that. */
function brokenBy(text: string, { start, end }: Link): string {
  const [rest = ''] = /^[^\p{ASCII}\x80-\u036F]+/v.exec(text.slice(end, end + longestEmoji)) ?? [];
  if (rest === '') {
    return '';
  }

  const at = end - start;
  const emoji = segmenter.segment(text.slice(start, end) + rest).containing(at);
  return emoji && emoji.index < at ? emoji.segment.slice(at - emoji.index) : '';
}

/** For a text whose links are filled in: the library looks for more only where there is a dot. */
const weigh = (text: string): number =>
  twitterText.parseTweet(text.replaceAll('.', ',')).weightedLength;
