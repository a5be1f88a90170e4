import { isText } from './texts.ts';

/** What a link to a file is made of. */
type LinkedFile = { readonly linkToken: string; readonly name: string };

/**
 * The link under which a browser opens a file without an API key: who has it may see the file.
 *
 * @param publicUrl Where browsers reach the API, without a slash at the end.
 * @param file Its name is well-formed Unicode; it only makes the link readable.
 */
export const linkOf = (publicUrl: string, { linkToken, name }: LinkedFile): string =>
  `${publicUrl}/files/${linkToken}/${encodeURIComponent(name)}`;

/**
 * The address of a live post in the one form in which the ledger keeps addresses and two are compared: as every browser
 * writes it. Networks and people spell the same one in other ways, such as `HTTPS://Social.Example:443/@me/1`.
 *
 * @param address An absolute URL.
 */
export const postAddress = (address: string): string => URL.parse(address)?.href ?? address;

/** In UTF-16 units, as every browser writes it. */
const longestAddress = 2048;

/**
 * What keeps a text from being the address of a live post, from a person or from a server; null where nothing does. It is
 * shown as a link, so one that seems to lead elsewhere (`https://bank.example@other.example`) is none.
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
