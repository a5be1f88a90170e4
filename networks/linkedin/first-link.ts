/** Ends at what no address contains unescaped, and at the punctuation of Chinese and Japanese. */
const links = /\bhttps?:\/\/[^\s<>"“”«»、。，！？；：（）「」『』【】《》]+/giv;

/**
 * The first link of a text that has its protocol; undefined when there is none. Punctuation that follows it is no part of
 * it, nor a bracket that was opened before it.
 */
export function firstLink(text: string): string | undefined {
  for (const [found] of text.matchAll(links)) {
    const link = beforeOpenBracket(found).replace(/[.,;:!?'’…*_~\]\}]{1,20}$/v, '');
    if (URL.canParse(link)) {
      return link;
    }
  }

  return undefined;
}

/** Up to a closing bracket without an opening one. */
function beforeOpenBracket(link: string): string {
  let depth = 0;
  for (const { 0: bracket, index } of link.matchAll(/[\(\)]/gv)) {
    depth += bracket === '(' ? 1 : -1;
    if (depth < 0) {
      return link.slice(0, index);
    }
  }

  return link;
}
