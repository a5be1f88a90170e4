import { wrongValue } from '../../domain/errors.ts';
import { isText, notText } from '../../domain/texts.ts';

const maxLength = 255;

/** Only this many characters from the end are read: normalizing long runs of marks takes quadratic time. */
const maxRead = 1000;

/** Control characters and direction marks, which make `gpj.exe` look like `exe.jpg`. */
const disguises = /[\p{Cc}\u{202a}-\u{202e}\u{2066}-\u{2069}]/gv;

/**
 * Makes a display name from an untrusted file name: its last part, without invisible characters, at most 255 UTF-16
 * units. Without a name it is `file` with the type's usual ending. It never names a file on our disk.
 */
export function fileName(given: string | undefined, type: string): string {
  const last =
    given
      ?.slice(-maxRead)
      .toWellFormed()
      .normalize('NFC')
      .split(/[\/\\]/v)
      .at(-1) ?? '';
  const name = shortened(last.replaceAll(disguises, '').trim());
  return /^\.*$/v.test(name) ? `file.${endings[type] ?? 'bin'}` : name;
}

export function nameInUrl(url: string): string | undefined {
  const last = URL.parse(url)?.pathname.split('/').at(-1) ?? '';
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

/** Keeps the ending and does not split a surrogate pair. */
function shortened(name: string): string {
  if (name.length <= maxLength) {
    return name;
  }

  const ending = /\.[a-z0-9]{1,10}$/iv.exec(name)?.[0] ?? '';
  const kept = name.slice(0, maxLength - ending.length);
  return `${kept.isWellFormed() ? kept : kept.slice(0, -1)}${ending}`;
}

/** The file types of the library, which `runtime/media/probe.ts` detects by their bytes. */
const endings: Readonly<Record<string, string>> = {
  'image/jpeg': 'jpg',
  'image/png': 'png',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'video/mp4': 'mp4',
  'video/quicktime': 'mov',
  'video/webm': 'webm',
};

export const libraryTypes: readonly string[] = Object.keys(endings);

/** In characters; longer than any network allows. */
export const longestAltText = 5000;

/** Returns the problem of an alt text as a message, or null. An empty text means none. */
export function altTextFault(text: string): string | null {
  if (text !== '' && text.trim() === '') {
    return 'must not be blank';
  }

  if (!isText(text)) {
    return notText;
  }

  const { length } = [...text];
  return length > longestAltText
    ? `must not have more than ${longestAltText} characters, and this has ${length}`
    : null;
}

export function assertFileTexts(altText: string | null | undefined, name = ''): void {
  const fault = altTextFault(altText ?? '');
  if (fault !== null) {
    throw wrongValue('/alt_text', fault);
  }

  if (!isText(name)) {
    throw wrongValue('/name', notText);
  }
}
