/**
 * The address of a live post in the one form in which the ledger keeps addresses and two are compared: as every browser
 * writes it. Networks and people spell the same one in other ways, such as `HTTPS://Social.Example:443/@me/1`.
 *
 * @param address An absolute URL.
 */
export const postAddress = (address: string): string => URL.parse(address)?.href ?? address;
