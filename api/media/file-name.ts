const maxLength = 255;

/** What is looked at of a name, from its end: to normalize long runs of marks takes quadratic time. */
const maxRead = 1000;

/** Direction marks, with which `gpj.exe` looks like `exe.jpg`. */
const disguises = /[\p{Cc}\u{202a}-\u{202e}\u{2066}-\u{2069}]/gv;

/**
 * A name to show, from one that a stranger chose: its last part, without what cannot be seen, of 255 UTF-16 units at
 * most. It is never used as the name of a file of ours.
 *
 * @param given Undefined or empty: the fallback is `file` with the type's usual ending.
 * @param type MIME type, as read from the bytes.
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

/** The name of what a URL leads to: the last part of its path. */
export function nameInUrl(url: string): string | undefined {
  const last = URL.parse(url)?.pathname.split('/').at(-1) ?? '';
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

/** Keeps the ending, and no half of a surrogate pair. */
function shortened(name: string): string {
  if (name.length <= maxLength) {
    return name;
  }

  const ending = /\.[a-z0-9]{1,10}$/iv.exec(name)?.[0] ?? '';
  const kept = name.slice(0, maxLength - ending.length);
  return `${kept.isWellFormed() ? kept : kept.slice(0, -1)}${ending}`;
}

/** The files that the library takes, which `runtime/media/probe.ts` tells by their bytes. */
const endings: Readonly<Record<string, string>> = {
  'image/jpeg': 'jpg',
  'image/png': 'png',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'video/mp4': 'mp4',
  'video/quicktime': 'mov',
  'video/webm': 'webm',
};

/** MIME types of the files that the library takes. */
export const libraryTypes: readonly string[] = Object.keys(endings);
