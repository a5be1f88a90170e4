/** Counts code points, as networks and JSON Schema do. `[...text].length` would take 20 ms for 1 MB. */
export function characterCount(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1) {
    count += 1;
  }

  return count;
}

/** Whether a text can be stored: PostgreSQL accepts neither NUL nor a lone surrogate. */
export const isText = (text: string): boolean => !text.includes('\0') && text.isWellFormed();
export const notText = 'must be text: no NUL, no half of a surrogate pair';

/** Line breaks of web forms and Windows (CR LF, which X counts as 2), Office (U+000B), old terminals and Unicode. */
const otherBreaks = /\r\n?|[\v\f\u0085\u2028\u2029]/gv;
/** NUL stays, because it is refused. */
const otherControls = /[\p{Cc}--[\0\t\n]]/gv;

/** Makes all texts of a value fit for every network: YouTube and XML refuse control characters. */
export function plainTexts<T>(value: T): T;
export function plainTexts(value: unknown): unknown {
  if (typeof value === 'string') {
    return value.replaceAll(otherBreaks, '\n').replaceAll(otherControls, '');
  }
  if (Array.isArray(value)) {
    return value.map((one: unknown) => plainTexts(one));
  }

  return typeof value === 'object' && value !== null
    ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plainTexts(one)]))
    : value;
}

/** Cleans a handle, URL or secret that a person pasted. Bluesky's app, for one, puts direction marks around a handle. */
export const pasted = (text: string): string => text.replaceAll(/\p{Cf}/gv, '').trim();

/** Up to 128 marks in a row, and the rest. NFKC turns the two letters, of half-width kana, into marks. */
const marks = /([\p{M}\uFF9E\uFF9F]{1,128})[\p{M}\uFF9E\uFF9F]*/gv;

/**
 * Normalises a text to a form of Unicode, and keeps at most 128 marks in a row: `String.normalize` orders marks in time
 * quadratic to their number, and half a million take a minute. Unicode's stream-safe texts have at most 30.
 */
export const normalized = (text: string, form: 'NFC' | 'NFKC'): string =>
  text.replaceAll(marks, '$1').normalize(form);

const characters = new Intl.Segmenter('en', { granularity: 'grapheme' });

/** The longest beginning of a text that fits a length, in UTF-16 units or as given, and splits no grapheme. */
export function wholeCharacters(
  text: string,
  most: number,
  lengthOf: (part: string) => number = (part) => part.length,
): string {
  let end = 0;
  let length = 0;
  for (const { segment } of characters.segment(text)) {
    length += lengthOf(segment);
    if (length > most) {
      break;
    }

    end += segment.length;
  }

  return text.slice(0, end);
}

/**
 * Normalises the URL of a live post, as browsers write it. The ledger stores and compares this form: networks and
 * people spell one URL in several ways, such as `HTTPS://Social.Example:443/@me/1`.
 */
export const postAddress = (address: string): string => URL.parse(address)?.href ?? address;

/** In UTF-16 units of the normalised URL. */
const longestAddress = 2048;

/**
 * Why a text cannot be the URL of a live post; null when it can. It is shown as a link, where user information
 * (`https://bank.example@other.example`) misleads readers.
 */
export function addressFault(given: string): string | null {
  const url = isText(given) ? URL.parse(given) : null;
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    return 'must be the whole address of the post, such as https://social.example/@me/1';
  }

  if (url.username !== '' || url.password !== '') {
    return 'must not have a user name or a password in it';
  }

  return url.href.length > longestAddress ? `must have at most ${longestAddress} characters` : null;
}
