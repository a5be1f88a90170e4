import { isText } from './texts.ts';

type LinkedFile = { readonly linkToken: string; readonly name: string };

/**
 * The link that opens a file in a browser without an API key. Anyone who has the link can see the file.
 *
 * @param publicUrl The API's public URL, without a slash at the end.
 * @param file Its name is well-formed Unicode; it only makes the link readable.
 */
export const linkOf = (publicUrl: string, { linkToken, name }: LinkedFile): string =>
  `${publicUrl}/files/${linkToken}/${encodeURIComponent(name)}`;

/**
 * Normalises the URL of a live post, as browsers write it. The ledger stores and compares this form: networks and
 * people spell one URL in several ways, such as `HTTPS://Social.Example:443/@me/1`.
 *
 * @param address An absolute URL.
 */
export const postAddress = (address: string): string => URL.parse(address)?.href ?? address;

/** In UTF-16 units of the normalised URL. */
const longestAddress = 2048;

/**
 * Why a text cannot be the URL of a live post, from a person or from a server; null when it can. The URL is shown as a
 * link, so one with user information (`https://bank.example@other.example`) is refused: it misleads readers.
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
