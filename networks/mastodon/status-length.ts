import twitterText from '../../runtime/twitter-text.ts';
import { isPlain, measuredOnce } from '../validation/texts.ts';

// Mastodon's length of a status: a link counts as `characters_reserved_per_url`, and `@name@host` as `@name`. It finds
// both with Ruby's twitter-text and patterns of its own (app/validators/status_length_validator.rb,
// app/lib/extractor.rb, config/initializers/twitter_regex.rb of mastodon/mastodon). A link or a mention that it does
// not find counts in full.

const { validGTLD, validCCTLD, validPunycode, validDomainChars } = twitterText.regexen;

const inDomain = validDomainChars.source;
const protocol = /(?<![A-Za-z0-9@＠$#＃/])(?:https?|dat|dweb|ipfs|ipns|ssb|gopher|gemini):\/\//giu;
const domainLike = new RegExp(`(?:[_.\\-]|${inDomain})+`, 'iy');
const topLevelAt = new RegExp(
  [validGTLD, validCCTLD, validPunycode].map(({ source }) => source).join('|'),
  'iy',
);
const subdomain = new RegExp(`^${inDomain}(?:.*${inDomain})?$`, 'is');

// Greedy and linear: brackets nest only one level, and no other alternative begins like them.
const pathUnit = String.raw`[^\p{White_Space}<>\(\)?]`;
const brackets = String.raw`\((?:${pathUnit}+|${pathUnit}*\(${pathUnit}+\)${pathUnit}*)\)`;
const pathEnd = String.raw`(?:${brackets}|[^\p{White_Space}\(\)?!*"'「」<>;:=,.$%\[\]~&\|@])`;
const beyondAscii = String.raw`\u{A0}-\u{D7FF}\u{E000}-\u{FDCF}\u{FDF0}-\u{FFEF}\u{10000}-\u{10FFFD}`;
const queryUnit = String.raw`[a-z0-9!?*'\(\);:&=+$\/%#\[\]\-_.,~\|@\^${beyondAscii}]`;
const queryEnd = String.raw`[a-z0-9_&=#\/\-${beyondAscii}]`;
const afterDomain = new RegExp(
  `(?::[0-9]+)?(?:\\/(?:(?:${pathUnit}|${brackets})*${pathEnd})?)?(?:\\?${queryUnit}*${queryEnd})?`,
  'iuy',
);

const word = String.raw`[\p{L}\p{M}\p{Nd}\p{Pc}]`;
const mention = new RegExp(
  `(?<![=\\/\\p{L}\\p{M}\\p{Nd}\\p{Pc}])(?<name>@[a-z0-9_]+(?:[.\\-]+[a-z0-9_]+)*)@${word}+(?:[.\\-]+${word}+)*`,
  'giu',
);

/** A mention that is followed by one of these does not count as one. */
const afterMention = /(?:[@＠À-ɏ]|:\/\/)/iuy;

type Entity = { readonly start: number; readonly end: number; readonly name?: string };

/** @param count Measures a text without links and mentions, in the wanted unit. */
export function statusLength(
  text: string,
  linkLength: number,
  count: (text: string) => number = countCharacters,
): number {
  const { counted, linkCount } = withoutEntities(text);
  return count(counted) + linkCount * (linkLength - 1);
}

/** Once for all servers, which differ only in the length of a link: 12,000 units of links take a millisecond. */
const withoutEntities = measuredOnce((text) => {
  let linkCount = 0;
  let counted = '';
  let end = 0;
  for (const entity of entitiesOf(text)) {
    if (entity.start < end) {
      continue;
    }

    counted += text.slice(end, entity.start) + (entity.name ?? 'x');
    linkCount += entity.name === undefined ? 1 : 0;
    ({ end } = entity);
  }
  return { counted: counted + text.slice(end), linkCount };
});

function entitiesOf(text: string): Entity[] {
  const entities: Entity[] = [...linksOf(text)];
  for (const match of text.matchAll(mention)) {
    const { index: start, groups } = match;
    const end = start + match[0].length;
    afterMention.lastIndex = end;
    if (!afterMention.test(text)) {
      entities.push({ start, end, name: groups?.['name'] ?? '' });
    }
  }
  return entities.toSorted((a, b) => a.start - b.start);
}

function* linksOf(text: string): Generator<Entity> {
  let past = 0;
  for (const { 0: scheme, index } of text.matchAll(protocol)) {
    const domain = index < past ? 0 : domainEnd(text, index + scheme.length);
    if (domain > 0) {
      afterDomain.lastIndex = domain;
      past = domain + (afterDomain.exec(text)?.[0].length ?? 0);
      yield { start: index, end: past };
    }
  }
}

/** The end of the longest domain from `start` with a known top-level domain; 0 when there is none. */
function domainEnd(text: string, start: number): number {
  domainLike.lastIndex = start;
  const labels = domainLike.exec(text)?.[0].split('.') ?? [];
  let end = 0;
  let at = start;
  for (const [number, label] of labels.entries()) {
    const before = labels[number - 1];
    if (before !== undefined && !before.includes('_')) {
      topLevelAt.lastIndex = at;
      const found = topLevelAt.exec(text);
      end = found ? at + found[0].length : end;
    }

    if (!subdomain.test(label)) {
      break;
    }

    at += label.length + 1;
  }
  return end;
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
/** Newer Unicode versions join several consonants of these scripts to one character; servers run older ones. */
const joinedLetter =
  /[[\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Telugu}\p{Script=Malayalam}\p{Script=Khmer}]&&\p{Lo}]/gv;

/** Counts characters as people see them. Where Unicode versions differ, it counts more, because servers differ too. */
export const countCharacters = measuredOnce((text) => {
  if (isPlain(text)) {
    return text.length;
  }

  let characters = 0;
  for (const { segment } of graphemes.segment(text)) {
    characters += segment.length === 1 ? 1 : Math.max(1, segment.match(joinedLetter)?.length ?? 0);
  }

  return characters;
});
