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
