/** A piece of a post's text, with the address that it leads to when it is a link, a mention or a tag. */
export type Segment = { readonly text: string; readonly href?: string };

/** Whether a browser may follow the address: `javascript:` and its like may not become links. */
export function isWebAddress(address: string): boolean {
  return /^https?:\/\//iv.test(address) && URL.canParse(address);
}
