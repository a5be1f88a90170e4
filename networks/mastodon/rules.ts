import {
  noOptions,
  type Content,
  type MediaFacts,
  type Rules,
  type ValidationResult,
} from '../content-rules.ts';
import type { Json } from '../../domain/json-schema.ts';
import { numberOf } from '../validation/amounts.ts';
import {
  isImage,
  isVideo,
  validateFiles,
  mixtureFaults,
  nameOf,
  type TypeRules,
} from '../validation/files.ts';
import { countGraphemes, type TextResult, validateTexts } from '../validation/texts.ts';
import { mastodonSettings, type MastodonSettings } from './settings.ts';

const server = 'this Mastodon server';

/** Of Mastodon itself, for GIFs alone; no server tells it. */
const maxGifPixels = 1280 * 720;

/** Types that go by another name here, where a file's type is read from its bytes. */
const ourNames: Readonly<Record<string, string>> = {
  'video/x-matroska': 'video/matroska',
  'video/x-msvideo': 'video/vnd.avi',
};

/** The limits are those that the account's server told when it was connected, or else Mastodon's own. */
export const rules: Rules = {
  threads: true,
  options: noOptions,
  // No rule bounds how long a server works on a request whose client is gone. 60 s is what proxies give it
  // (nginx' default for an answer); a status takes a second even on a busy one.
  appearsWithinMs: 60_000,
  validate(content: Content, settings: Json): ValidationResult {
    const { media } = content;
    const limits = mastodonSettings(settings);
    const { texts, errors } = validateTexts(content, server, (text) => validateText(text, limits));
    const mixture = mixtureFaults(media, groupsOf(limits), server);
    const files = validateFiles(media, typeRulesOf(limits), server);
    return {
      errors: [...errors, ...mixture, ...files.errors],
      warnings: [...files.warnings, ...media.flatMap(gifWarnings)],
      texts,
    };
  },
};

function validateText(text: string, limits: MastodonSettings): TextResult {
  const { maxCharacters: limit, charactersReservedPerUrl } = limits;
  const length = statusLength(text, charactersReservedPerUrl);
  return {
    measure: { length, limit, unit: 'characters' },
    errors:
      length > limit
        ? [
            `The text is too long for ${server}: it takes ${limit} characters (a link counts ${charactersReservedPerUrl}), and this is ${length}.`,
          ]
        : [],
  };
}

const groupsOf = ({ maxMediaAttachments }: MastodonSettings) => [
  { one: 'image', max: maxMediaAttachments, has: isImage },
  { one: 'video', max: Math.min(1, maxMediaAttachments), has: isVideo },
];

function typeRulesOf(limits: MastodonSettings): TypeRules {
  const { maxImageBytes, maxImagePixels, maxVideoBytes, maxVideoPixels } = limits;
  const image = { kind: 'an image', maxBytes: maxImageBytes, maxPixels: maxImagePixels };
  const video = { kind: 'a video', maxBytes: maxVideoBytes, maxPixels: maxVideoPixels };
  const rulesByType = limits.mediaTypes.map((type) => {
    const rule = type.startsWith('image/') ? image : video;
    return [ourNames[type] ?? type, rule] as const;
  });
  return Object.fromEntries(rulesByType);
}

function gifWarnings(file: MediaFacts): string[] {
  const { type, width, height } = file;
  const pixels = (width ?? 0) * (height ?? 0);
  return type === 'image/gif' && pixels > maxGifPixels
    ? [
        `Many Mastodon servers take GIFs of up to ${numberOf(maxGifPixels)} pixels only, and ${nameOf(file)} has ${numberOf(pixels)} (${width} × ${height}).`,
      ]
    : [];
}

/** A server takes only a host with a dot for a link, and leaves out the punctuation that ends a sentence. */
const linkLike = /https?:\/\/[^\s/?#.]+(?:\.[^\s/?#.]+)+(?:[/?#]\S*)?/giu;
const punctuation = new Set('.,:;!?\'"»”’]}>');
const remoteMentions = /(?<![\w@/])(@\w+(?:[.-]+\w+)*)@[\p{L}\p{N}][\p{L}\p{N}.:-]*[\p{L}\p{N}]/gu;

/**
 * Length of a status the way a Mastodon server counts it.
 *
 * Unit: grapheme clusters, so a family emoji is 1. Every link counts the same whatever its length, and of
 * `@name@host` only `@name` counts.
 *
 * Gap: GoToSocial counts code points and the whole link, so a text of many emoji near its limit (5000) may pass
 * here and be refused there.
 *
 * Source: https://docs.joinmastodon.org/user/posting/#text
 */
export function statusLength(text: string, charactersReservedPerUrl: number): number {
  let links = 0;
  const counted = text
    .replaceAll(linkLike, (link) => {
      links += 1;
      return `x${link.slice(linkEnd(link))}`;
    })
    .replaceAll(remoteMentions, '$1');
  return countGraphemes(counted) + links * (charactersReservedPerUrl - 1);
}

/**
 * Where the link ends inside of what looks like one: a closing bracket belongs to it only after an opening one.
 *
 * Walks back by hand: a pattern for this takes quadratic time, and texts come from outside.
 */
function linkEnd(match: string): number {
  const isBalanced = match.includes('(');
  let end = match.length;
  for (; end > 0; end -= 1) {
    const last = match.charAt(end - 1);
    if (!punctuation.has(last) && (last !== ')' || isBalanced)) {
      break;
    }
  }

  return end;
}
