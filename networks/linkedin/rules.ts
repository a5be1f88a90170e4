import { noOptions, type Content, type Rules, type ValidationResult } from '../content-rules.ts';
import { isImage, isVideo, validateFiles, mixtureFaults } from '../validation/files.ts';
import { asOneText, validateTexts, type TextResult } from '../validation/texts.ts';

/**
 * Of the text as people read it: the escapes of `little-text.ts` are gone by then. In UTF-16 code units, the most
 * careful reading of "characters".
 */
const maxLength = 3000;

const image = { kind: 'an image', maxPixels: 36_152_319 };
const typeRules = {
  'image/jpeg': image,
  'image/png': image,
  'image/gif': image,
  // LinkedIn says 75 KB and 500 MB and not which; the wider reading leaves the rest to LinkedIn.
  'video/mp4': {
    kind: 'a video',
    minBytes: 75_000,
    maxBytes: 500 * 1024 * 1024,
    minDurationMs: 3000,
    maxDurationMs: 30 * 60_000,
  },
};

const groups = [
  { one: 'image', max: 20, has: isImage },
  { one: 'video', max: 1, has: isVideo },
];

export const rules: Rules = {
  threads: false,
  options: noOptions,
  // Until there is an adapter: what proxies give a server for an answer (nginx' default).
  appearsWithinMs: 60_000,
  validate({ texts: parts, media }: Content): ValidationResult {
    const { texts, errors } = validateTexts(
      { texts: asOneText(parts), media },
      'LinkedIn',
      validateText,
    );
    const mixture = mixtureFaults(media, groups, 'LinkedIn');
    const files = validateFiles(media, typeRules, 'LinkedIn');
    return { errors: [...errors, ...mixture, ...files.errors], warnings: files.warnings, texts };
  },
};

function validateText(text: string): TextResult {
  const { length } = text;
  return {
    measure: { length, limit: maxLength, unit: 'characters' },
    errors:
      length > maxLength
        ? [
            `The text is too long for LinkedIn: it takes ${maxLength} characters (an emoji counts 2 or more), and this is ${length}.`,
          ]
        : [],
  };
}
