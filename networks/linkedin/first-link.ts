/** A link ends at a character that URLs do not contain unescaped, and at Chinese and Japanese punctuation. */
const links = /\bhttps?:\/\/[^\s<>"“”«»、。，！？；：（）「」『』【】《》]+/giv;

/**
 * The first link of a text that begins with a protocol; undefined when there is none. Trailing punctuation does not
 * belong to it, nor a closing bracket that was opened before it.
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

/** Cuts a link at a closing bracket without an opening one. */
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
