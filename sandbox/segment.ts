/** A piece of a post's text; `href` is set for a link, a mention or a tag. */
export type Segment = { readonly text: string; readonly href?: string };

/** Whether the URL may become a link: not `javascript:` and the like. */
export function isWebAddress(address: string): boolean {
  return /^https?:\/\//iv.test(address) && URL.canParse(address);
}
