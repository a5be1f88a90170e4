import { domainToUnicode } from 'node:url';
import twitterText from 'twitter-text';
import { normalized } from '../../domain/texts.ts';
import type { OwnPost } from './wire.ts';

/**
 * Whether a post says what was sent.
 *
 * X writes each link as one of its own (t.co) with the address behind it beside, escapes `&`, `<` and `>`, and puts a
 * link to the files behind the text. So links are compared by their addresses, and of all else only letters and digits,
 * as X may trim and compose characters. Rather too generous than too strict: to miss our own post would send it twice. A
 * text without letters, digits and links is compared whole.
 */
export function isSameText(post: OwnPost, text: string): boolean {
  const keys = post.attachments?.media_keys;
  // Null says nothing about files: the post may have some.
  const guesses = keys === null ? [false, true] : [(keys ?? []).length > 0];
  const sent = sentOf(text);
  return guesses.some((hasFiles) => isSame(shownOf(post, hasFiles), sent));
}

function isSame(shown: Pieces, sent: Pieces): boolean {
  const isPlain = sent.links.length === 0 && lettersOf(sent.rest) === '';
  return (
    lettersOf(shown.rest) === lettersOf(sent.rest) &&
    shown.links.length === sent.links.length &&
    shown.links.every((link, index) => isSameLink(link, sent.links[index])) &&
    (!isPlain || bare(shown.rest) === bare(sent.rest))
  );
}

/** One of which is not known where it leads may be any. */
const isSameLink = (shown: string | null, sent: string | null | undefined): boolean =>
  shown === null || sent === null || shown === sent;

type Pieces = {
  /** The text without its links. */
  readonly rest: string;
  /** Where they lead, in one spelling; null where that is not known. */
  readonly links: readonly (string | null)[];
};

function sentOf(text: string): Pieces {
  const links = twitterText.extractUrls(text);
  // X says of a link of its own where that leads, which we cannot know.
  const addresses = links.map((link) =>
    /^https?:\/\/t\.co\//iv.test(link) ? null : spelled(link),
  );
  return { rest: without(text, links), links: addresses };
}

/** X's own links, as they stand in a text. */
const ownLinks = /https?:\/\/t\.co\/[A-Za-z0-9]+/gv;
/** What X puts behind the text of a post with files. */
const fileAddress = /^https:\/\/(?:x|twitter)\.com\/[^\/]+\/status\/\d+\/(?:photo|video)\/\d$/v;

function shownOf({ text, entities }: OwnPost, hasFiles: boolean): Pieces {
  const urls = entities?.urls ?? [];
  const found = text.match(ownLinks) ?? [];
  const links = found.flatMap((link, index): readonly (string | null)[] => {
    const known = urls.find(({ url }) => url === link);
    const address = known?.expanded_url;
    const isLast = index === found.length - 1;
    if (known?.media_key || fileAddress.test(address ?? '') || (!known && hasFiles && isLast)) {
      return [];
    }

    return [address ? spelled(address) : null];
  });
  return { rest: unescaped(without(text, found)), links };
}

/** @param links In their order in the text. */
function without(text: string, links: readonly string[]): string {
  let rest = '';
  let from = 0;
  for (const link of links) {
    const at = text.indexOf(link, from);
    rest += `${text.slice(from, at)} `;
    from = at + link.length;
  }

  return rest + text.slice(from);
}

/** One spelling for the ways to write an address: `example.com`, `http://EXAMPLE.com/`. */
function spelled(address: string): string {
  const url = URL.parse(/^https?:\/\//iv.test(address) ? address : `http://${address}`);
  if (!url) {
    return address;
  }

  const path = `${url.pathname}${url.search}${url.hash}`;
  const whole = `${domainToUnicode(url.hostname)}${url.port && `:${url.port}`}${decoded(path)}`;
  return normalized(whole, 'NFC').replace(/\/$/v, '');
}

function decoded(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

const unescaped = (text: string): string =>
  text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');

const lettersOf = (text: string): string =>
  normalized(text, 'NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]/gu, '');

const bare = (text: string): string => normalized(text, 'NFC').replaceAll(/\s/gu, '');
